"""A LangGraph agent with three tools: langgraph_agent.py BASE_URL TASK"""

import sys

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

from tools import read_file, replace, run

model = ChatOpenAI(base_url=sys.argv[1], api_key="none", model="scripted", stream_usage=True, streaming=True)
agent = create_react_agent(model, [tool(each) for each in (read_file, replace, run)])
for event in agent.stream({"messages": [("user", sys.argv[2])]}, stream_mode="values"):
    last = event["messages"][-1]
print(last.content)
