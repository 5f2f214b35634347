"""Answers of a type with instructor, in two of its modes: instructor_program.py BASE_URL TASK"""

import sys

import instructor
from openai import OpenAI
from pydantic import BaseModel


class Report(BaseModel):
    sum: int
    text: str


for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
    client = instructor.from_openai(OpenAI(base_url=sys.argv[1], api_key="none"), mode=mode)
    report = client.chat.completions.create(
        model="scripted", response_model=Report, messages=[{"role": "user", "content": sys.argv[2]}], max_retries=0)
    print(repr(report))
