#!/usr/bin/env python3
"""Compares answers that are forced to have a shape with free ones that happen to have it, on a real model.

100 prompts: calls of tools with one to four arguments of all types, and extraction by a schema. Each is asked twice, greedily:
forced (tool_choice "required", response_format json_schema), and free (tool_choice "auto", no response_format). A free answer
is valid if it has a call, or JSON, that the schema admits; an answer is right if the values are those of the prompt. A
constraint excludes what is invalid, not what the model is sure of: forced answers should be right at least as often.

usage: forced.py --shim .build/release/shim --model FILE.gguf [--threads N] [--only GROUP,…] [--limit N] [--verbose]
       forced.py --url http://127.0.0.1:8080

Prints the counts by group and in all; exit status 1 if forced answers are right less often than free ones.
"""
import argparse
import json
import re
import subprocess
import sys
import urllib.request

STRING, INTEGER, NUMBER, BOOLEAN = ({"type": name} for name in ["string", "integer", "number", "boolean"])
STRINGS = {"type": "array", "items": STRING}
INTEGERS = {"type": "array", "items": INTEGER}


def one_of(*values):
    return {"enum": list(values)}


def tool(name, description, **properties):
    # `properties` before `type`, as several clients send it: it decides the order in which models see the schema.
    schema = {"properties": properties, "required": list(properties), "type": "object"}
    return {"name": name, "description": description, "parameters": schema}


WEATHER = tool("get_weather", "Get the current weather in a city", city=STRING)
TIMER = tool("set_timer", "Start a timer", minutes=INTEGER)
LIGHT = tool("switch_light", "Switch a light on or off", room=STRING, on=BOOLEAN)
CURRENCY = tool(
    "convert_currency", "Convert an amount of money", amount=NUMBER, source=one_of("USD", "EUR", "GBP", "JPY"),
    target=one_of("USD", "EUR", "GBP", "JPY"))
TABLE = tool(
    "book_table", "Book a table in a restaurant", restaurant=STRING, people=INTEGER, hour=INTEGER, outdoor=BOOLEAN)
SHOPPING = tool("add_to_list", "Add items to the shopping list", items=STRINGS)
SUM = tool("add_numbers", "Add numbers", numbers=INTEGERS)
MAIL = tool("send_mail", "Send an e-mail", to=STRING, subject=STRING)
THERMOSTAT = tool("set_temperature", "Set the temperature of a room", room=STRING, celsius=NUMBER)

PERSON = dict(name=STRING, age=INTEGER)
PRODUCT = dict(product=STRING, price=NUMBER, in_stock=BOOLEAN)
EVENT = dict(title=STRING, year=INTEGER, month=INTEGER, participants=STRINGS)
MOOD = dict(mood=one_of("positive", "negative"))

CITIES = [
    "Paris", "London", "Berlin", "Madrid", "Rome", "Vienna", "Tokyo", "Sydney", "Cairo", "Lima", "Oslo", "Dublin", "Lisbon",
    "Chicago", "Toronto",
]

# group, tool or the properties of a schema, question, expected values
PROMPTS = [("cities", WEATHER, f"What is the weather in {city}?", dict(city=city)) for city in CITIES]
PROMPTS += [
    ("timer", TIMER, f"Set a timer for {minutes} minutes.", dict(minutes=minutes))
    for minutes in [5, 12, 25, 45, 90, 180, 3, 60]
]
PROMPTS += [
    ("light", LIGHT, f"Turn {word} the light in the {room}.", dict(room=room, on=word == "on"))
    for room, word in [
        ("kitchen", "on"), ("bedroom", "off"), ("garage", "on"), ("bathroom", "off"), ("hall", "on"), ("office", "off"),
        ("attic", "on"), ("cellar", "off"),
    ]
]
PROMPTS += [
    ("currency", CURRENCY, f"Convert {amount} {source} to {target}.", dict(amount=amount, source=source, target=target))
    for amount, source, target in [
        (100, "USD", "EUR"), (25.5, "EUR", "GBP"), (1000, "JPY", "USD"), (7.25, "GBP", "EUR"), (80, "EUR", "JPY"),
        (3.99, "USD", "GBP"), (450, "GBP", "USD"), (12000, "JPY", "EUR"),
    ]
]
PROMPTS += [
    (
        "table", TABLE,
        f"Book a table at {place} for {people} people at {hour} o'clock, {'outdoors' if outdoor else 'indoors'}.",
        dict(restaurant=place, people=people, hour=hour, outdoor=outdoor),
    )
    for place, people, hour, outdoor in [
        ("Luigi's", 4, 19, False), ("Blue Lagoon", 2, 20, True), ("Sakura", 6, 18, False), ("El Toro", 3, 21, True),
        ("Golden Dragon", 8, 12, False), ("Chez Marie", 5, 13, True),
    ]
]
PROMPTS += [
    ("shopping", SHOPPING, f"Add {', '.join(items[:-1])} and {items[-1]} to my shopping list.", dict(items=items))
    for items in [
        ["milk", "bread"], ["apples", "butter", "eggs"], ["rice", "beans"], ["coffee", "sugar", "tea"],
        ["cheese", "tomatoes"], ["soap", "shampoo", "towels"],
    ]
]
PROMPTS += [
    ("sum", SUM, f"Add the numbers {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}.", dict(numbers=numbers))
    for numbers in [[3, 4], [10, 20, 30], [7, 8, 9], [100, 250], [1, 2, 3, 4], [55, 45]]
]
PROMPTS += [
    ("mail", MAIL, f"Send an e-mail to {to} with the subject \"{subject}\".", dict(to=to, subject=subject))
    for to, subject in [
        ("anna@example.com", "Lunch"), ("bob@example.org", "Meeting notes"), ("carol@example.net", "Invoice 42"),
        ("dave@example.com", "Happy birthday"), ("eve@example.org", "Holiday plans"),
    ]
]
PROMPTS += [
    ("thermostat", THERMOSTAT, f"Set the {room} to {celsius} degrees.", dict(room=room, celsius=celsius))
    for room, celsius in [("kitchen", 20), ("bedroom", 18.5), ("office", 21), ("bathroom", 23.5), ("nursery", 22)]
]
PROMPTS += [
    ("person", PERSON, f"{name} is {age} years old.", dict(name=name, age=age))
    for name, age in [
        ("Anna", 34), ("Peter", 8), ("Maria Lopez", 71), ("John Smith", 45), ("Chen Wei", 29), ("Fatima", 52),
        ("Lars", 16), ("Olga", 63), ("Tom", 3), ("Priya", 38),
    ]
]
PROMPTS += [
    (
        "product", PRODUCT, f"The {name} costs {price} dollars and is {'in stock' if stock else 'sold out'}.",
        dict(product=name, price=price, in_stock=stock),
    )
    for name, price, stock in [
        ("lamp", 49.5, True), ("desk", 199, False), ("backpack", 75.25, True), ("keyboard", 120, True),
        ("umbrella", 15.99, False), ("headphones", 89.9, False), ("kettle", 32, True), ("notebook", 4.75, True),
    ]
]
MONTHS = {"January": 1, "March": 3, "May": 5, "June": 6, "October": 10, "December": 12}
PROMPTS += [
    (
        "event", EVENT, f"In {month} {year}, {' and '.join(people)} took part in the {title}.",
        dict(title=title, year=year, month=MONTHS[month], participants=people),
    )
    for title, month, year, people in [
        ("book fair", "March", 2021, ["Anna", "Ben"]), ("chess tournament", "May", 1998, ["Carl", "Dora"]),
        ("marathon", "October", 2015, ["Eva", "Finn"]), ("science congress", "June", 2009, ["Gina", "Hugo"]),
        ("song contest", "January", 2023, ["Iris", "Jan"]),
    ]
]
PROMPTS += [
    ("mood", MOOD, f"Review: {text}", dict(mood=mood))
    for text, mood in [
        ("I love this phone, it is wonderful.", "positive"), ("Terrible quality, it broke after a day.", "negative"),
        ("The best pizza in town!", "positive"), ("I want my money back.", "negative"),
        ("A beautiful and moving film.", "positive"), ("The staff were rude and the room was dirty.", "negative"),
        ("Works perfectly, highly recommended.", "positive"), ("What a waste of time.", "negative"),
        ("My children are delighted with it.", "positive"), ("Never again.", "negative"),
    ]
]
assert len(PROMPTS) == 100, len(PROMPTS)


def ask(url, body):
    data = json.dumps({"temperature": 0, "max_tokens": 200, **body}).encode()
    request = urllib.request.Request(f"{url}/v1/chat/completions", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response)["choices"][0]["message"]


def objects(text):
    """The JSON objects in a text, wherever they are."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"\{", text):
        try:
            yield decoder.raw_decode(text, match.start())[0]
        except ValueError:
            pass


def admits(schema, value):
    kind = schema.get("type")
    if "enum" in schema:
        return value in schema["enum"]
    if kind == "object":
        properties = schema["properties"]
        return (
            isinstance(value, dict) and set(value) == set(properties)
            and all(admits(properties[name], value[name]) for name in properties))
    if kind == "array":
        return isinstance(value, list) and all(admits(schema["items"], item) for item in value)
    if kind == "boolean" or isinstance(value, bool):
        return kind == "boolean" and isinstance(value, bool)
    return isinstance(value, {"string": str, "integer": int, "number": (int, float)}[kind])


def values(message, name, schema):
    """The arguments or the object that an answer gives, if the schema admits them."""
    found = []
    for call in message.get("tool_calls") or []:
        if call["function"]["name"] == name:
            found += objects(call["function"]["arguments"])
    for value in objects(message.get("content") or ""):
        if not name:
            found.append(value)
        elif value.get("name") == name:
            # A call that the model writes without its dialect's markers.
            found.append(value.get("arguments", value.get("parameters")))
    return next((value for value in found if admits(schema, value)), None)


def same(expected, found):
    if isinstance(expected, list):
        return len(expected) == len(found) and all(map(same, expected, found))
    if isinstance(expected, str):
        return expected.casefold() == found.strip().casefold()
    return expected == found


def compare(url, prompts, verbose):
    """The counts of each group: asked, forced answers that are right, free ones that are valid, and right."""
    counts = {}
    for group, shape, question, expected in prompts:
        if "parameters" in shape:
            name, schema = shape["name"], shape["parameters"]
            base = {"messages": [{"role": "user", "content": question}], "tools": [{"type": "function", "function": shape}]}
            forcing, freeing = {"tool_choice": "required"}, {"tool_choice": "auto"}
        else:
            name = None
            schema = {"type": "object", "properties": shape, "required": list(shape)}
            task = f"Extract the data as JSON by this schema, and answer with the JSON only: {json.dumps(schema)}"
            base = {"messages": [{"role": "system", "content": task}, {"role": "user", "content": question}]}
            format = {"name": group, "schema": {**schema, "additionalProperties": False}, "strict": True}
            forcing, freeing = {"response_format": {"type": "json_schema", "json_schema": format}}, {}
        forced = values(ask(url, base | forcing), name, schema)
        free = values(ask(url, base | freeing), name, schema)
        right = [value is not None and all(same(expected[key], value[key]) for key in expected) for value in (forced, free)]
        count = counts.setdefault(group, [0, 0, 0, 0])
        for index, more in enumerate([True, right[0], free is not None, right[1]]):
            count[index] += more
        if verbose and not all(right):
            print(f"{group}: {question}\n  forced {forced}\n  free   {free}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", help="a running server, instead of --shim and --model")
    parser.add_argument("--shim")
    parser.add_argument("--model")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", help="groups, separated by commas")
    parser.add_argument("--limit", type=int, help="prompts of each group")
    parser.add_argument("--verbose", action="store_true", help="print what is not right")
    options = parser.parse_args()
    groups = options.only.split(",") if options.only else {prompt[0] for prompt in PROMPTS}
    prompts = [
        prompt for index, prompt in enumerate(PROMPTS)
        if prompt[0] in groups
        and (options.limit is None or [p[0] for p in PROMPTS[:index]].count(prompt[0]) < options.limit)
    ]
    server = None
    if not (url := options.url):
        command = [options.shim, "--model", options.model, "--port", "0"]
        command += ["--threads", str(options.threads)] if options.threads else []
        server = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        url = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline()).group()
    try:
        counts = compare(url, prompts, options.verbose)
    finally:
        if server:
            server.terminate()
            server.wait()
    print(f"{'':12}{'prompts':>9}{'forced right':>14}{'free valid':>12}{'free right':>12}")
    counts["all"] = [sum(column) for column in zip(*counts.values())]
    for group, (asked, forced, valid, free) in counts.items():
        print(f"{group:12}{asked:9}{forced:14}{valid:12}{free:12}")
    sys.exit(counts["all"][1] < counts["all"][3])


if __name__ == "__main__":
    main()
