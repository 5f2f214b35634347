"""An agent of Pydantic AI with three tools and an answer of a type: pydantic_agent.py BASE_URL TASK"""

import sys

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tools import read_file, replace, run


class Report(BaseModel):
    sum: int
    text: str


model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=sys.argv[1], api_key="none"))
agent = Agent(model, output_type=Report, tools=[read_file, replace, run])
print(repr(agent.run_sync(sys.argv[2]).output))
