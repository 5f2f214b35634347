"""Conversations with tools: declarations, questions, calls, results, answers.

A kind of tool is a function that draws one use of it: how it is declared, what
the user asks, the arguments of the call, what the tool returns and the sentence
that says so. Names, argument names, descriptions and the order of declarations
vary, so that the model reads them from the prompt. `held=True` draws names,
cities, numbers and phrasings that training never sees, and `HELD_KINDS` are
kinds of tools that it never sees at all.
"""

import json
import random
from dataclasses import dataclass, field

from corpus import ADJ, CAPITALS, NAMES, SYSTEMS, Draw, exchange, kept_out, listing, phrase, rough, up
from facts import *


@dataclass
class Tool:
    name: str
    about: str
    parameters: list  # (name, type or tuple of choices, required)

    def schema(self):
        """As a request declares it."""
        properties = {n: {"type": "string", "enum": list(t)} if isinstance(t, tuple) else
                      {"type": "array", "items": {"type": "number"}} if t == "array" else {"type": t} for n, t, _ in self.parameters}
        return {"type": "function", "function": {"name": self.name, "description": self.about, "parameters": {
            "type": "object", "properties": properties, "required": [n for n, _, r in self.parameters if r]}}}


@dataclass
class Use:
    tool: Tool
    user: str
    arguments: dict
    result: str
    answer: str
    want: list = field(default_factory=list)  # words that the answer after the result must hold


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def name(d, train, held):
    """A tool's name, in one of the ways that people write names."""
    n = d.pick(held if d.held else train)
    r = d.rng.random()
    if r < 0.15:
        first, *rest = n.split("_")
        n = first + "".join(map(up, rest))
    elif r < 0.25:
        n = n.replace("_", "-")
    elif r < 0.35:
        n += d.pick(["_tool", "_2", "_now", "_v1", "_fn"])
    return n


def parameter(d, names, kind, required=True):
    return d.pick(names), kind, required


def city(d):
    """A capital, which the model knows how to spell, or a made-up place, which it has to copy."""
    if d.chance(0.75):
        return d.pick(CAPITALS)[1]
    syllable = lambda: d.pick(words("b, d, f, g, h, k, l, m, n, p, r, s, t, v, br, st, tr, gr")) + d.pick("aeiou")
    return d.kept(lambda: (up(syllable() + syllable() + d.pick(["", syllable()]) + d.pick(words("n, l, r, s, ville, ton, burg, ford, field, a"))),))[0]


def clock(d):
    h, m = d.int(0, 23), d.int(0, 59)
    return f"{h:02}:{m:02}"


def sent(d, value):
    """A result as programs write it: JSON, or text as it is."""
    return value if isinstance(value, str) and d.chance(0.6) else d.pick([compact, json.dumps])(value)


def time_now(d):
    place = d.pick(["no", "no", "optional", "optional", "required"])
    asked = place == "required" or place == "optional" and d.chance(0.5)
    where = city(d)
    p = d.pick(["city", "zone", "timezone", "location", "place", "tz", "where", "time_zone"])
    tool = Tool(name(d, words("now, time, get_time, current_time, clock, what_time, tell_time, get_current_time, time_now"), words("read_clock, local_time, check_time")),
                d.fill("[The current time|Tells the time|Gets the current time|The time now|Returns the time of day|What time it is|Current local time|The time][ in a city| in a place| of a time zone| in a time zone|]." if place != "no" else "[The current time|Tells the time|Gets the current time|The time now|Returns the time of day|What time it is]."),
                [] if place == "no" else [(p, "string", place == "required")])
    at = d.fill(d.pick([" in {c}", " in {c}", " in {c}[ now| right now]"]), c=where) if asked else d.pick(["", "", " now", " right now"])
    user = d.ask(["What time is it{at}?", "[Tell me|Give me|I need|Show me|Check] the [current |]time{at}.", "What[ is|'s] the [current |]time{at}?", "[Can|Could] you tell me the time{at}?", "How late is it{at}?", "Time{at}?", "What does the clock say{at}?", "Please tell me what time it is{at}."],
                 ["Do you know what time it is{at}?", "Which time do we have{at}?", "Say what time it is{at}."], at=at)
    t = clock(d)
    day = f"{d.int(2020, 2032)}-{d.int(1, 12):02}-{d.int(1, 28):02}"
    stamp = d.pick([t, t, f"{t}:{d.int(0, 59):02}", f"{day} {t}", f"{day}T{t}:{d.int(0, 59):02}", f"{day}T{t}:{d.int(0, 59):02}Z", f"{day}T{t}:{d.int(0, 59):02}+00:00", f"{day}T{t}:{d.int(0, 59):02}.{d.int(0, 999999):06}+00:00"])
    value = d.pick([stamp, stamp, {"time": stamp}, {"now": stamp}, {"time": stamp, p: where if asked else "UTC"}])
    return Use(tool, user, {p: where} if asked else {}, sent(d, value), f"It is {t}{' in ' + where if asked else ''}.", [t])


def number(d):
    top = d.pick([9, 20, 50, 100, 100, 1000])
    n = d.int(0, top)
    return n if d.chance(0.75) else d.int(0, top) + d.pick([0.5, 0.25, 0.1, 0.2, 0.75, 0.4, 0.9])


def plain(n):
    return f"{round(n, 6):g}" if abs(n) < 1e5 else str(round(n))


SUMS = {  # verb: sign, names, held names, descriptions, questions, held questions
    "add": ("+", "add, sum, plus, add_numbers, addition, get_sum, sum_two, add_two, calc_sum", "total, add_up, adder",
            ["[Adds|Add|Sums|Sum of|Adds up|The sum of|Returns the sum of] [two numbers|a pair of numbers|numbers]."],
            ["What is {a} [+|plus] {b}?", "{a} [+|plus] {b}", "[Add|Please add|Can you add] {a} and {b}[.|]", "How much is {a} [+|plus] {b}?", "[Calculate|Compute|Work out] {a} [+|plus] {b}.", "What is the sum of {a} and {b}?", "Tell me {a} [+|plus] {b}.", "What do I get for {a} [+|plus] {b}?"],
            ["What do {a} and {b} add up to?", "Find {a} + {b}.", "Do you know what {a} + {b} is?"]),
    "subtract": ("-", "subtract, minus, difference, sub, subtract_numbers, take_away", "less, deduct",
                 ["[Subtracts|Subtract] [two numbers|one number from another].", "The difference of two numbers.", "First number minus the second."],
                 ["What is {a} [-|minus] {b}?", "{a} [-|minus] {b}", "How much is {a} [-|minus] {b}?", "[Calculate|Compute] {a} [-|minus] {b}.", "Tell me {a} [-|minus] {b}."],
                 ["Find {a} - {b}.", "Do you know what {a} - {b} is?"]),
    "multiply": ("*", "multiply, times, product, mul, multiply_numbers, multiplication", "scale, mult",
                 ["[Multiplies|Multiply] [two numbers|a pair of numbers].", "The product of two numbers."],
                 ["What is {a} [*|times|x] {b}?", "{a} [*|times] {b}", "How much is {a} [*|times|x] {b}?", "[Multiply|Please multiply] {a} [by|and] {b}.", "[Calculate|Compute] {a} [*|times] {b}."],
                 ["Find {a} * {b}.", "Do you know what {a} times {b} is?"]),
}


def sums(d):
    sign, names, held, about, train, other = SUMS[d.pick(["add", "add", "add", "subtract", "multiply"])]
    a, b = d.kept(lambda: (number(d), number(d)))
    x, y = d.pick([("a", "b"), ("a", "b"), ("a", "b"), ("x", "y"), ("first", "second"), ("left", "right"), ("n1", "n2"), ("number1", "number2"), ("one", "two"), ("p", "q")])
    kind = d.pick(["number", "number", "number", "integer"])
    if kind == "integer":
        a, b = int(a), int(b)
    r = {"+": a + b, "-": a - b, "*": a * b}[sign]
    tool = Tool(name(d, words(names), words(held)), d.fill(d.pick(about)), [(x, kind, True), (y, kind, True)])
    arguments = {x: a, y: b}
    if sign == "+" and d.chance(0.12):
        p = d.pick(["numbers", "values", "terms", "list"])
        tool.parameters, arguments = [(p, "array", True)], {p: [a, b]}
    elif d.chance(0.12):
        tool = Tool(name(d, words("calculate, calculator, calc, eval, compute, math, evaluate"), words("solve, arithmetic")), d.fill("[Calculates|Evaluates|Computes|Solves] [an expression|a sum|arithmetic]."), [(d.pick(["expression", "input", "formula", "sum"]), "string", True)])
        arguments = {tool.parameters[0][0]: f"{plain(a)} {sign} {plain(b)}"}
    r = round(r, 6)
    value = d.pick([r, r, float(r), {"result": r}, {d.pick(["sum", "value", "answer", "total"]): r}])
    return Use(tool, d.ask(train, other, a=plain(a), b=plain(b)), arguments, d.pick([compact, json.dumps])(value), f"{plain(a)} {sign} {plain(b)} = {plain(r)}.", [plain(r)])


SKY = words("sunny, cloudy, rainy, foggy, windy, snowy, clear, stormy, dry, wet, hazy, cold, warm")


def weather(d):
    where = city(d)
    p = d.pick(["city", "city", "location", "place", "town", "where"])
    parameters, arguments = [(p, "string", True)], {p: where}
    unit = d.pick([("celsius", "fahrenheit"), ("C", "F"), ("metric", "imperial")])
    said = ""
    if d.chance(0.3):
        parameters.append((d.pick(["unit", "units", "scale"]), unit, False))
        if d.chance(0.4):
            u = d.pick([0, 1])
            said = " in " + ["celsius", "fahrenheit"][u]
            arguments[parameters[1][0]] = unit[u]
    tool = Tool(name(d, words("get_weather, weather, current_weather, weather_now, lookup_weather, fetch_weather, weather_report, get_current_weather, forecast"), words("check_sky, weather_at, meteo")),
                d.fill("[The|Gets the|Current|Returns the|Looks up the|Tells the] weather [of|in|for] a [city|place|town]."), parameters)
    user = d.ask(["What[ is|'s] the weather[ like|] in {c}[ now| today| right now|]{u}?", "How is the weather in {c}[ today|]{u}?", "[Tell me|Show me|Check|Get|Give me] the weather in {c}{u}.", "[Is it|Will it be] [raining|sunny|cold|warm|hot|windy] in {c}[ today|]{u}?", "Weather in {c}{u}?", "How [warm|cold|hot] is it in {c}[ now| today|]{u}?", "{c} weather{u}", "What is the temperature in {c}{u}?", "[Can|Could] you check the weather in {c}{u}?"],
                 ["Which weather does {c} have{u}?", "I travel to {c}. What is the weather there{u}?", "Look up the weather for {c}{u}."], c=where, u=said)
    t, sky = d.int(-15, 40), d.pick(SKY)
    value = d.pick([{"temperature": t, "condition": sky}, {"temp": t, "sky": sky}, {"condition": sky, "temperature": t}, {p: where, "temperature": t, "weather": sky}, {"degrees": t, "conditions": sky},
                    f"{t} degrees, {sky}", f"{t} degrees and {sky}", f"{sky}, {t} degrees", f"{t} C, {sky}"])
    return Use(tool, user, arguments, sent(d, value), f"It is {t} degrees and {sky} in {where}.", [str(t), sky])


def timer(d):
    n = d.int(1, 90)
    unit = d.pick(["minutes", "minutes", "seconds", "hours"])
    tool = Tool(name(d, words("set_timer, timer, start_timer, countdown, new_timer"), words("egg_timer, run_timer")), d.fill("[Sets|Starts] a [timer|countdown]."), [(unit, "integer", True)])
    user = d.ask(["[Set|Start|Please set] a timer [for|of] {n} {u}[.|]", "Timer for {n} {u}[.|]", "[Can|Could] you set a timer for {n} {u}?", "[Remind|Wake] me in {n} {u}[.|]"], ["I need a timer of {n} {u}.", "Count down {n} {u}."], n=n, u=unit)
    return Use(tool, user, {unit: n}, done(d), f"The timer is set for {n} {unit}.", [str(n)])


def done(d):
    return d.pick(["ok", "OK", "done", '{"status":"ok"}', '{"ok":true}', '{"ok": true}', "true", "null", '"ok"', '{"status": "success"}'])


def note(d):
    text, p = phrase(d), d.pick(["text", "note", "content", "body"])
    tool = Tool(name(d, words("note, save_note, add_note, write_note, take_note, remember, new_note"), words("memo, jot_down")), d.fill("[Saves|Writes|Keeps|Stores] a note."), [(p, "string", True)])
    user = d.ask(["[Save|Write|Add|Take|Keep] [a|the|this] note: {t}[.|]", "[Note|Write down|Note down]: {t}[.|]", "[Please |]note that {t}[.|]", "Make a note: {t}"], ["Put this in my notes: {t}", "Store the note {t}."], t=text)
    return Use(tool, user, {p: text}, done(d), "I have saved the note.", ["saved"])


def message(d):
    who, text = d.pick(NAMES), phrase(d)
    to, body = d.pick(["to", "name", "person", "recipient"]), d.pick(["text", "message", "body"])
    tool = Tool(name(d, words("send_message, message, text_someone, send_text, send_sms, notify"), words("write_to, ping")), d.fill("Sends [a message|a text|words] to [a person|someone]."), [(to, "string", True), (body, "string", True)])
    user = d.ask(["[Send|Write] {n} the message[:|] {t}[.|]", "[Tell|Text|Message] {n}[:|] {t}[.|]", "Send a message to {n}: {t}[.|]", "[Please |]tell {n} that {t}[.|]"], ["Let {n} know that {t}.", "Text this to {n}: {t}"], n=who, t=text)
    return Use(tool, user, {to: who, body: text}, done(d), f"I have sent the message to {who}.", [who])


def light(d):
    room, on = d.pick(words("kitchen, bedroom, garden, hall, bathroom, office, garage, living room, cellar")), d.chance(0.5)
    p, q = d.pick(["room", "place", "where"]), d.pick(["on", "state", "power", "is_on"])
    value = on if d.chance(0.5) else ("on" if on else "off")
    tool = Tool(name(d, words("light, set_light, switch_light, turn_light, lights, lamp"), words("lamp_switch, dim")), d.fill("[Turns|Switches] [a light|the light|lights] on or off."), [(p, "string", True), (q, "boolean" if isinstance(value, bool) else ("on", "off"), True)])
    o = "on" if on else "off"
    user = d.ask(["[Turn|Switch|Please turn] {o} the [light|lamp] in the {r}[.|]", "[Turn|Switch] the {r} [light|lamp] {o}[.|]", "{r} light {o}", "Light {o} in the {r}[.|]"], ["I want the light in the {r} {o}.", "Make the {r} light go {o}."], o=o, r=room)
    return Use(tool, user, {p: room, q: value}, done(d), f"The light in the {room} is {o}.", [room, o])


def look_up(d):
    what, p = d.pick(LISTS[d.pick(["animals", "jobs", "sports"])]), d.pick(["query", "q", "topic", "word", "term"])
    tool = Tool(name(d, words("search, lookup, find, search_web, look_up, wiki, web_search"), words("query_books, browse")), d.fill("[Searches|Looks up|Finds] [the web|things|a topic|information|pages]."), [(p, "string", True)])
    user = d.ask(["[Search|Look|Search the web] for {w}[.|]", "[Look up|Find|Google|Search] {w}[.|]", "[Please |]find [something|a page] about {w}[.|]"], ["See what you can find on {w}.", "Run a search for {w}."], w=what)
    found = d.fill(d.pick(["{n} pages about {w}", "{w}: {n} results", "{n} results"]), n=d.int(2, 90), w=what)
    return Use(tool, user, {p: what}, sent(d, found), f"I found {found}.", [found.split()[0] if found[0].isdigit() else what])


def dice(d):
    n = d.pick([4, 6, 6, 8, 10, 12, 20, 100])
    p = d.pick(["sides", "faces", "max", "n"])
    tool = Tool(name(d, words("roll_dice, roll, dice, throw_dice, random_number"), words("toss_die, die")), d.fill("[Rolls|Throws] a [die|dice]."), [(p, "integer", True)])
    r = d.int(1, n)
    user = d.ask(["Roll a [die|dice] with {n} [sides|faces][.|]", "[Roll|Throw] a {n}-sided [die|dice][.|]", "[Please |]roll a d{n}[.|]"], ["Let a {n}-sided die fall.", "I want to roll a d{n}."], n=n)
    return Use(tool, user, {p: n}, d.pick([str(r), compact({"result": r}), compact({"roll": r})]), f"You rolled a {r}.", [str(r)])


def play(d):
    what, p = phrase(d), d.pick(["title", "song", "track"])
    tool = Tool(name(d, words("play, play_song, play_music, start_song"), words("music_player, put_on")), d.fill("[Plays|Starts] a song."), [(p, "string", True)])
    user = d.ask(["[Play|Please play|Put on] the song {t}[.|]", "Play {t}[.|]", "[Can|Could] you play {t}?"], ["I want to hear {t}.", "Start the song {t}."], t=what)
    return Use(tool, user, {p: what}, done(d), f"Now playing {what}.", [what])


def alarm(d):
    t = clock(d)
    p = d.pick(["time", "at", "when"])
    tool = Tool(name(d, ["set_alarm", "alarm", "new_alarm"], ["wake_up", "alarm_clock"]), "Sets an alarm.", [(p, "string", True)])
    return Use(tool, d.ask(["Set an alarm for {t}[.|]", "Alarm at {t}[.|]"], ["I want an alarm at {t}."], t=t), {p: t}, done(d), f"The alarm is set for {t}.", [t])


def translate_word(d):
    w, lang = d.pick(words("house, water, friend, bread, night, love, tree, sun, hand, door")), d.pick(words("French, Spanish, German, Italian, Dutch, Polish"))
    p, q = d.pick(["word", "text"]), d.pick(["language", "to", "target"])
    tool = Tool(name(d, ["translate", "translate_text"], ["to_language", "interpret"]), d.fill("Translates [a word|text]."), [(p, "string", True), (q, "string", True)])
    r = "".join(d.pick("aeiou") if i % 2 else d.pick("bdfklmnprst") for i in range(d.int(4, 6)))
    return Use(tool, d.ask(["Translate {w} to {l}."], ["Translate {w} into {l}."], w=w, l=lang), {p: w, q: lang}, sent(d, r), f"\"{up(w)}\" in {lang} is \"{r}\".", [r])


KINDS = [(time_now, 5), (sums, 7), (weather, 6), (timer, 1.2), (note, 1.5), (message, 1.5), (light, 1), (look_up, 1.2), (dice, 0.8), (play, 1)]
HELD_KINDS = [alarm, translate_word]
UNRELATED = {"small talk", "identity", "general facts", "animals", "geography", "words", "why", "meanings and uses", "lists", "calendar", "how to", "yes or no", "memory", "units"}


def kind(d):
    return d.rng.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0]


def use(d, which=None):
    """One use of a tool; now and then the tool fails."""
    u = (which or kind(d))(d)
    if d.chance(0.03):
        reason = d.pick(["timeout", "not found", "no connection", "unknown city", "invalid input", "service unavailable"])
        u.result, u.answer, u.want = d.pick([f"error: {reason}", compact({"error": reason}), f"Error: {reason}"]), f"That did not work: {reason}.", [reason]
    return u


def declared(d, tools, besides):
    """The tools in question and others, in any order, no two alike."""
    tools = list(tools)
    for _ in range(besides):
        other = kind(d)(d).tool
        if all(other.name != t.name and other.about[:9] != t.about[:9] for t in tools):
            tools.append(other)
    d.rng.shuffle(tools)
    return tools


def signature(tool):
    kinds = ("|".join(t) if isinstance(t, tuple) else t for _, t, _ in tool.parameters)
    return f"{tool.name}({', '.join(n + ('' if r else '?') + ': ' + k for (n, _, r), k in zip(tool.parameters, kinds))}): {tool.about}"


def system(tools, text=None):
    """The first message, as the chat template writes it where a request has tools."""
    return {"role": "system", "content": (text + "\n" if text else "") + "Functions:\n" + "\n".join(map(signature, tools))}


def call(u):
    return f'<tool_call>{compact({"name": u.tool.name, "arguments": u.arguments})}</tool_call>'


def tool_conversation(d):
    """Messages of a conversation with tools declared: calls, results and answers, and questions that need no tool."""
    uses = [use(d) for _ in range(d.pick([1, 1, 1, 1, 2, 2]))]
    if len(uses) == 2 and uses[0].tool.about[:9] == uses[1].tool.about[:9]:
        uses.pop()
    tools = declared(d, [u.tool for u in uses], d.pick([0, 1, 1, 2, 2, 3] if len(uses) == 1 else [0, 0, 1]))
    out = [system(tools, d.pick(SYSTEMS) if d.chance(0.25) else None)]
    if d.chance(0.12):  # none of them is of use
        uses = []
    at_once = len(uses) == 2 and d.chance(0.3)
    if at_once:
        a, b = uses
        join = d.pick(["{a} {b}", "{a} And {b}", "{a} Also: {b}", "First: {a} Then: {b}"])
        out.append({"role": "user", "content": join.format(a=a.user, b=b.user)})
        out.append({"role": "assistant", "content": call(a) + call(b)})
        out += [{"role": "tool", "content": u.result} for u in uses]
        out.append({"role": "assistant", "content": f"{a.answer} {b.answer}"})
        return out
    for u in uses:
        e = type("Asked", (), {"user": u.user, "category": "small talk" if u.tool.about[:5] not in ("Saves", "Sends") else "repeat and case"})
        asked = rough(d, e) if not u.arguments or isinstance(next(iter(u.arguments.values())), (int, float)) else u.user
        if asked == u.user and d.chance(0.2):
            asked = asked.rstrip("?.")
        out += [{"role": "user", "content": asked}, {"role": "assistant", "content": call(u)},
                {"role": "tool", "content": u.result}, {"role": "assistant", "content": u.answer}]
        if d.chance(0.2):
            uses = []
    if not uses or d.chance(0.15):
        abouts = " ".join(t.about.lower() for t in tools)
        live = any(word in abouts for word in ("weather", "time", "search", "find", "look"))
        sum_ = any(word in abouts for word in ("number", "sum", "arithmetic", "expression"))
        suited = UNRELATED | (set() if live else {"unknown"}) | (set() if sum_ else {"arithmetic", "word problems"})
        e = exchange(d)
        while e.category not in suited:
            e = exchange(d)
        at = len(out) if d.chance(0.6) else 1
        out[at:at] = [{"role": "user", "content": rough(d, e)}, {"role": "assistant", "content": e.answer}]
    return out


if __name__ == "__main__":
    from corpus import render
    d = Draw(random.Random(1))
    for _ in range(12):
        print(render(tool_conversation(d)))
