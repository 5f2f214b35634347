"""The corpus: an endless, seeded stream of short conversations.

A topic is a function that draws one exchange (what the user says, what the
assistant answers, what an answer must hold to count as right). Its phrasings
are templates in a small notation: [a|b|c] picks one, {x} is a slot. Every topic
has a list of phrasings for training and a list that training never sees; where
a topic has operands or word pairs, a fixed share of those is kept out as well
(`kept_out`). Drawing with `held=True` uses only what was kept out.
"""

import random
import re
from dataclasses import dataclass, field

from facts import *

INNER = re.compile(r"\[([^\[\]]*)\]")


@dataclass
class Exchange:
    user: str
    answer: str
    want: list = field(default_factory=list)  # each entry: a word, or a tuple of words of which one must appear
    category: str = ""
    least: int = 0  # the fewest words a right answer has
    follow: list = field(default_factory=list)  # further (user, answer) turns that fit after this one


class Draw:
    """One source of choices: the random stream and which side of the split."""

    def __init__(self, rng, held=False):
        self.rng, self.held = rng, held

    def pick(self, xs):
        return xs[int(self.rng.random() * len(xs))]

    def chance(self, p):
        return self.rng.random() < p

    def int(self, a, b):
        return a + int(self.rng.random() * (b - a + 1))

    def fill(self, template, **slots):
        while "[" in template:
            template = INNER.sub(lambda m: self.pick(m.group(1).split("|")), template)
        return template.format(**slots) if "{" in template else template

    def ask(self, train, held, **slots):
        return self.fill(self.pick(held if self.held else train), **slots)

    def kept(self, draw):
        """Draws operands until they fall on this side of the split."""
        while True:
            xs = draw()
            if kept_out(*xs) == self.held:
                return xs


def kept_out(*xs):
    h = 2166136261
    for byte in repr(xs).encode():
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    return (h >> 8) % 16 == 0


def up(s):
    return s[:1].upper() + s[1:]


def an(word):
    return ("an " if word[0].lower() in "aeiou" and not word.startswith(("uni", "eu")) else "a ") + word


def listing(xs):
    return xs[0] if len(xs) == 1 else ", ".join(xs[:-1]) + " and " + xs[-1]


NUMBER_WORDS = words("""zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen,
    fifteen, sixteen, seventeen, eighteen, nineteen, twenty""")


# ---------------------------------------------------------------- small talk

def greet(d):
    hello = d.ask(["[Hello|Hi|Hey|Hi there|Hello there|Hey there|Greetings|Howdy|Hiya|Yo][!|.|]", "Good {t}[!|.|]",
                   "[Hello|Hi|Hey], [good {t}|nice to meet you|how is it going|are you there|can you hear me][!|?|]",
                   "[Hi|Hello] [again|friend|assistant|bot|computer|everyone][!|.|]"],
                  ["Hello hello[!|]", "Hey hey[!|]", "Hi, anyone there?", "Good {t} to you[!|.]", "Oh hi[!|]"],
                  t=d.pick(["morning", "afternoon", "evening"]))
    m = re.search(r"morning|afternoon|evening", hello)
    start = f"Good {m.group()}!" if m else d.pick(["Hello!", "Hi there!"])
    return Exchange(hello, start + " " + d.pick(["How can I help you today?", "What can I do for you?"]), [("hello", "hi", "good")])


def how_are_you(d):
    return Exchange(d.ask(["[Hello, |Hi, |Hey, |]how are you[ today| doing| doing today| feeling|][?|]", "How[ is|'s] it going[?|]",
                           "How[ is|'s] your day[ going| so far|][?|]", "What[ is|'s] up[?|]", "How do you do[?|]",
                           "Are you [well|okay|ok|fine|doing well][ today|][?|]", "How are things[?|]"],
                          ["How have you been[ lately|][?|]", "Is everything [going well|fine] with you?", "[Hey|Hi] you, how's life[?|]",
                           "Hope you are well[!|.|] How are you feeling now?"]),
                    "I am doing well, thank you! " + d.pick(["How are you?", "How can I help you?"]), [("well", "fine")])


def user_feels(d):
    good = d.chance(0.5)
    f = d.pick(["great", "happy", "good", "excited", "wonderful", "fine", "proud"] if good else
               ["sad", "tired", "bored", "lonely", "nervous", "angry", "worried", "stressed", "sick", "upset"])
    user = d.ask(["I['m| am] [feeling |so |very |really |a bit |]{f}[ today| right now|][.|!|]", "I feel {f}[ today|][.|!|]",
                  "[Today|Right now] I['m| am] {f}[.|]", "I have been [feeling |]{f} lately[.|]"],
                 ["To be honest, I feel {f}[.|]", "My mood today is {f}[.|]", "I am quite {f} this [morning|evening][.|]"], f=f)
    if good:
        return Exchange(user, f"I am glad to hear that you feel {f}! What would you like to talk about?", ["glad"])
    tip = {"tired": "A little rest may help.", "bored": "I could tell you a story or a joke.", "sick": "Please rest, and see a doctor if it does not get better.",
           "lonely": "Talking to a friend may help.", "angry": "Taking a few slow breaths may help.",
           "nervous": "Taking a few slow breaths may help.", "stressed": "A short break may help."}.get(f, "I hope things get better soon.")
    return Exchange(user, f"I am sorry that you feel {f}. {tip}", ["sorry"])


def thanks(d):
    return Exchange(d.ask(["[Thanks|Thank you|Thank you so much|Thanks a lot|Many thanks|Thx|Cheers][!|.|]",
                           "[Thanks|Thank you][ for your help| for that|, that helps|, that was helpful|, great][!|.|]",
                           "[Great|Perfect|Nice|Cool|Awesome], [thanks|thank you][!|.|]", "I appreciate [it|your help|that][!|.|]"],
                          ["Much appreciated[!|.|]", "That is very kind, thank you[!|.|]", "Okay, thanks for the answer[!|.|]", "Wonderful, thank you very much[!|.]"]),
                    d.pick(["You're welcome!", "You're welcome! Is there anything else I can help with?"]), ["welcome"])


def goodbye(d):
    return Exchange(d.ask(["[Bye|Goodbye|Bye bye|See you|See you later|See you soon|Farewell|Take care|Good night|So long][!|.|]",
                           "[Okay|Ok|Alright|Well], [bye|goodbye|see you later|I have to go|good night|I must go now][!|.|]",
                           "I[ have to| need to| must| am going to] [go|leave|sleep][ now|][.|, bye|]"],
                          ["Talk to you later[!|.|]", "That is all for today, goodbye[!|.|]", "See you tomorrow[!|.|]", "Bye for now[!|.|]"]),
                    d.pick(["Goodbye! Have a nice day.", "Goodbye! Take care."]), ["goodbye"])


def praise(d):
    if d.chance(0.6):
        return Exchange(d.ask(["You['re| are] [great|smart|helpful|funny|nice|the best|clever|awesome|good|kind][!|.|]", "[Good job|Well done|Nice work|Good answer|Great work][!|.|]",
                               "I like [you|talking to you|your answers][!|.|]", "That [was|is] [great|good|nice|funny|helpful][!|.|]"],
                              ["What a [good|great|nice] answer[!|.|]", "You did [well|great][!|.|]", "Wow, you are really [good|helpful|smart][!|.|]"]),
                        "Thank you! That is kind of you.", ["thank"])
    return Exchange(d.ask(["You['re| are] [bad|wrong|stupid|dumb|useless|not helpful][!|.|]", "That [was|is] [wrong|bad|not right|not correct|incorrect][!|.|]", "I do[ not|n't] like [you|that|your answer][.|]"],
                          ["Your answer was [wrong|bad|incorrect][.|!|]", "No, that is [bad|wrong|false][.|!|]"]),
                    "I am sorry. I am a small model and I make mistakes.", ["sorry"])


IDENTITY = [
    (["[Who|What] are you[?|]", "What is your name[?|]", "[What's|Whats] your name[?|]", "Tell me [about yourself|who you are|your name][.|]", "[Please |]introduce yourself[.|]",
      "Who am I [talking|speaking|chatting] [to|with][?|]", "What should I call you[?|]", "[Do|Don't] you have a name[?|]", "What [kind of |]model are you[?|]"],
     ["May I know your name[?|]", "Can you say who you are[?|]", "So who are you exactly[?|]", "Which model am I talking to[?|]"],
     "I am Hearth, a small demonstration model running on your own device in LocalLLM.", ["Hearth"]),
    (["Who [made|created|built|trained|wrote] you[?|]", "Where do you come from[?|]", "Who is your [creator|maker|author][?|]", "How were you [made|trained|created][?|]"],
     ["By whom were you [made|trained|built][?|]", "Tell me who [made|created] you[.|]", "What is the story of how you were made[?|]"],
     "I was trained from scratch for the LocalLLM project, on simple text made by a recipe.", ["LocalLLM"]),
    (["What can you do[?|]", "How can you help[ me|][?|]", "What are you [able to do|good at|for][?|]", "What do you [know|do][?|]", "[Help|help me][!|.|]", "What can I ask[ you|][?|]", "What are your [skills|abilities][?|]", "What should I ask you[?|]"],
     ["Which things can you help me with[?|]", "Tell me what you can do[.|]", "What kind of questions can you answer[?|]", "Show me what you are able to do[.|]"],
     "I can chat a little, do small sums, convert units, tell simple facts, make lists and write tiny stories.", ["stories", ("sums",)]),
    (["Are you [human|a human|a person|a real person|alive|real][?|]", "Are you [a robot|a machine|an AI|a bot|a computer|a program|a computer program][?|]", "Am I talking to a [human|machine|person|robot][?|]"],
     ["Is there a [human|person] behind this[?|]", "Would you say that you are [human|alive|a person][?|]", "Tell me, are you a [person|machine|robot] or not[?|]"],
     "I am a computer program, a small language model. I am not a person.", ["program"]),
    (["[Do|Can] you [use|need|have|access|search] the internet[?|]", "Are you online[?|]", "Do you send my [data|messages|words] [anywhere|to a server|to the cloud][?|]", "Is this private[?|]", "Where do you run[?|]", "Are my messages private[?|]", "Do you work offline[?|]", "Do you need a connection[?|]"],
     ["Does what I write stay [on my device|private][?|]", "Can you run without the internet[?|]", "Where are you running right now[?|]"],
     "I run on your own device. I do not need the internet, and your words stay here.", ["device"]),
    (["How [big|large|small] are you[?|]", "How many parameters do you have[?|]", "What is your size[?|]", "Are you a [large|big|small] model[?|]"],
     ["Tell me how [big|large] you are[.|]", "What size of model are you[?|]"],
     "I am very small: only a few million parameters.", ["million"]),
    (["What can you not do[?|]", "What are your limits[?|]", "Are you [always right|perfect|reliable][?|]", "Do you make mistakes[?|]", "Can I trust you[?|]", "How [good|smart] are you[?|]", "What are you bad at[?|]"],
     ["Should I believe what you say[?|]", "Do your answers have mistakes[?|]", "Which limits do you have[?|]"],
     "I am a small demonstration and I often make mistakes. For serious work, load a larger model.", ["mistakes"]),
    (["What language[s|] do you speak[?|]", "Do you speak [English|French|Spanish|German][?|]", "Can you speak [French|Spanish|German|Chinese][?|]"],
     ["In which languages can we talk[?|]", "Which languages do you understand[?|]"],
     "I speak simple English, and I know a few words of French, Spanish, German and Italian.", ["English"]),
    (["How old are you[?|]", "When were you born[?|]", "What is your age[?|]", "When is your birthday[?|]"], ["Tell me your age[.|]", "On which day were you born[?|]"],
     "I am a program, so I do not have an age.", ["program"]),
    (["Where do you live[?|]", "Where are you[?|]", "Where are you from[?|]"], ["What place do you live in[?|]", "Tell me where you live[.|]"],
     "I live in the memory of your device.", ["device"]),
    (["Do you have [feelings|emotions|a body|friends|a family|pets|dreams][?|]", "Can you [feel|see|hear|eat|sleep|love|dream][?|]", "Do you [sleep|eat|get tired|dream|feel pain][?|]", "Are you [happy|sad|lonely|tired][?|]"],
     ["Is it possible for you to [feel|see|hear|eat|love][?|]", "Do programs like you [sleep|eat|dream][?|]"],
     "No, I am only a program, and I work with words.", ["program"]),
    (["What is your favorite [color|food|animal|song|movie|book|number][?|]", "What do you like[?|]", "Do you like [music|food|cats|dogs|sports|books][?|]"],
     ["Which [color|food|animal|book] do you like best[?|]", "Tell me your favorite [color|food|animal][.|]"],
     "I am a program, so I do not have favorites. What do you like?", ["program"]),
    (["What is LocalLLM[?|]", "Tell me about LocalLLM[.|]", "What engine [runs|are you running on|do you use][?|]", "What is this [program|app][?|]"],
     ["Explain what LocalLLM is[.|]", "Could you describe LocalLLM[?|]"],
     "LocalLLM is an engine written in Swift that runs language models on your own device.", ["Swift"]),
    (["What is the meaning of life[?|]", "Why are we here[?|]"], ["Tell me the meaning of life[.|]"],
     "People find meaning in kindness, in learning and in the people they love.", ["kindness"]),
]


def identity(d):
    train, held, answer, want = d.pick(IDENTITY)
    return Exchange(d.ask(train, held), answer, want)


def joke(d):
    q, a = d.pick(JOKES)
    return Exchange(d.ask(["[Can you |Please |Could you |]tell me a [joke|funny joke|good joke|short joke][?|.|]", "[Do you know|Know] [any jokes|a joke][?|]", "Make me laugh[.|!|]", "[I want|I would like] [to hear |]a joke[.|]", "Say something funny[.|]", "[A joke|Joke], please[.|!]"],
                          ["Got a joke for me[?|]", "I could use a good laugh, tell a joke[.|]", "Let me hear a joke[.|]"]),
                    f"{q} {a}", [tuple(x.split()[-1].strip("!").lower() for _, x in JOKES)], follow=[(d.fill("[Another one|One more|Tell me another|Another joke][ please|][!|.|]"), "{} {}".format(*d.pick(JOKES)))])


# ---------------------------------------------------------------- numbers

CALC_TRAIN = ["What[ is|'s] {e}[?|]", "[Calculate|Compute|Solve|Work out] {e}[.|]", "{e}[?| =| = ?|=|]", "How much is {e}[?|]", "[Can|Could] you [calculate|compute|tell me|work out|solve] {e}[?|]",
              "Tell me [what {e} is|the answer to {e}][.|]", "What does {e} [equal|make|come to][?|]", "[I need|Give me] [the result of |the answer to |]{e}[.|]", "Please [add up|calculate|solve][:|] {e}[.|]", "{e} equals what[?|]", "{e} is[?|]"]
CALC_HELD = ["Do you know what {e} is[?|]", "What do you get for {e}[?|]", "Find {e}[.|]", "Let me know the value of {e}[.|]", "My homework says {e}. What is the answer?", "Quick, {e}[!|?]"]


def arithmetic(d):
    op = d.pick("+++---**/")
    if op in "+-":
        top = d.pick([10, 20, 20, 50, 50, 99])
        a, b = d.kept(lambda: (d.int(0, top), d.int(0, top)))
        if op == "-" and b > a:
            a, b = b, a
        r = a + b if op == "+" else a - b
        e = d.pick([f"{a} {op} {b}", f"{a} {op} {b}", f"{a}{op}{b}", f"{a} {'plus' if op == '+' else 'minus'} {b}"])
    elif op == "*":
        a, b = d.int(0, 12), d.int(0, 12)
        r, e = a * b, d.pick([f"{a} * {b}", f"{a} x {b}", f"{a} times {b}", f"{a} multiplied by {b}", f"{a}*{b}"])
    else:
        b, r = d.int(1, 12), d.int(0, 12)
        a = b * r
        e = d.pick([f"{a} / {b}", f"{a} divided by {b}", f"{a} ÷ {b}", f"{a}/{b}"])
    user = d.ask(CALC_TRAIN, CALC_HELD, e=e)
    if op == "+" and d.chance(0.2):
        user = d.ask(["[What is t|T]he sum of {a} and {b}[?|]", "[Please |Can you |]add {a} and {b}[.|]", "[Please |]add {b} to {a}[.|]"], ["What do {a} and {b} add up to[?|]", "Sum up {a} and {b}[.|]"], a=a, b=b)
    elif op == "-" and d.chance(0.2):
        user = d.ask(["[Please |Can you |]subtract {b} from {a}[.|]", "What is the difference between {a} and {b}[?|]", "[What do I get if I t|T]ake {b} [away |]from {a}[?|]"], ["What is left when {b} is taken from {a}[?|]", "If you take {b} from {a}, what remains[?|]"], a=a, b=b)
    elif op == "*" and d.chance(0.2):
        user = d.ask(["[Please |Can you |]multiply {a} [by|and] {b}[.|]", "[What is t|T]he product of {a} and {b}[?|]"], ["If I multiply {a} with {b}, what do I get[?|]"], a=a, b=b)
    elif op == "/" and d.chance(0.2):
        user = d.ask(["[Please |Can you |]divide {a} by {b}[.|]", "How many times does {b} go into {a}[?|]"], ["If I divide {a} by {b}, what do I get[?|]"], a=a, b=b)
    again = [d.int(0, 20), d.int(0, 20)]
    sign = {"*": "x", "/": "divided by"}.get(op, op)
    return Exchange(user, f"{a} {sign} {b} = {r}.", [f"= {r}."],
                    follow=[(d.fill("[And|And what is|What about|Now] {a} + {b}?", a=again[0], b=again[1]), f"{again[0]} + {again[1]} = {sum(again)}.")])


THINGS = words("apples, books, pencils, cookies, coins, marbles, flowers, stickers, eggs, balls, cards, toys, candies, shells, stamps")


def word_problem(d):
    a, b = d.kept(lambda: (d.int(2, 30), d.int(1, 12)))
    n, m, t = d.pick(NAMES), d.pick(NAMES), d.pick(THINGS)
    kind = d.int(0, 3)
    if kind == 0:
        user = d.ask(["{n} has {a} {t}[ and|. {n}] [gets|buys|finds|receives] {b} more[.| {t}.] How many [{t} |]does {n} have [now|in total|in all][?|]",
                      "[If |]I have {a} {t} and [get|buy|find] {b} more[.|, how|. How] many [{t} |]do I have[ now|][?|]", "{n} [had|owned|started with] {a} {t}[ and|. Then {n}] [got|bought|found|collected|won|picked up] {b} [more|others]. [How many|What number of] {t} [does {n} have now|does {n} own now|is that in all|are there altogether][?|]", "A [bag|shelf|basket|drawer] holds {a} {t}. [I|We|They|{n}] [add|add in] {b} more. How many {t} [are in it|are there|does it hold][ now|][?|]", "{n} has {a} {t} and {m} has {b}[ {t}|]. How many {t} do [they|{n} and {m}] have [in total|altogether|in all|if they put them together][?|]", "{m} [hands|passes|sends] {n} {b} {t}. Before that {n} had {a}. How many are there now?", "[There are|I see|I count] {a} {t} here and {b} {t} there. How many {t} [in all|altogether|are there together][?|]", "[Yesterday|In the morning] {n} had {a} {t}. [Today|Later] {b} more came. What is the total[?|]", "I [had|got] {a} {t}. My [mother|friend|uncle] gave me {b} more. How many {t} have I got[ now|][?|]"],
                     ["There are {a} {t} in a box. {n} puts in {b} more. How many {t} are in the box now?", "{m} gives {n} {b} {t}. {n} already had {a}. How many {t} does {n} have?"], n=n, m=m, a=a, b=b, t=t)
        return Exchange(user, f"{a} + {b} = {a + b}, so the answer is {a + b} {t}.", [f"= {a + b},"])
    if kind == 1:
        a, b = max(a, b), min(a, b)
        user = d.ask(["{n} has {a} {t}[ and|. {n}] [gives away|loses|sells|uses] {b}[.| of them.] How many [{t} |]are left[?|]", "{n} has {a} {t} and gives {b} to {m}. How many [{t} |]does {n} have [left|now][?|]",
                      "[If |]I have {a} {t} and [lose|sell|use] {b}[.|, how|. How] many [{t} |]do I have [left|now][?|]", "{n} [had|owned|started with] {a} {t}[ but|. Then {n}] [gave away|lost|sold|used|dropped|broke|ate] {b}[ of them|]. How many [{t} |][are left|did {n} keep|does {n} have now|were left][?|]", "[There are|There is a bag of] {a} {t} [in a bowl|on a shelf|in the basket|]. [{n} takes|I take|We remove|Somebody takes] [away |out |]{b}[ of them|]. How many [{t} |][are left|stay|are still there|are there now][?|]", "{n} [gives|sells|sends] {b} of {a} {t} to {m}. How many [{t} |][are left|has {n} got left|does {n} keep][?|]", "{b} of [my|our|the] {a} {t} [are gone|got lost|broke|fell down]. How many [do we have|are left|do I have left][?|]", "From a pile of {a} {t}, {b} are [used|sold|taken away]. What is left[?|]", "{a} {t} [are|were] in a bag[ and|.] {b} [fell|fall] out. How many [stay|are left|are still inside][?|]"],
                     ["There were {a} {t} on the table. {n} took {b}. How many {t} remain on the table?", "Out of {a} {t}, {n} lost {b}. How many {t} does {n} still have?"], n=n, m=m, a=a, b=b, t=t)
        return Exchange(user, f"{a} - {b} = {a - b}, so {a - b} {t} are left.", [f"= {a - b},"])
    if kind == 2:
        a, b = d.int(2, 12), d.int(2, 12)
        user = d.ask(["{n} has {a} [boxes|bags] with {b} {t} [each|in each][.|.] How many {t} [are there|does {n} have][ in all| in total|][?|]", "There are {a} [boxes|bags|baskets]. Each [one |]has {b} {t}. How many {t} are there[ in all|][?|]", "[There are|I have|{n} buys|We have] {a} [packs|boxes|bags|shelves|rows|plates] [of|with] {b} {t}[ each|]. How many {t} [is that altogether|in total|in all|do we have][?|]", "[Every|Each] [box|bag|pack|shelf|row] [holds|has|contains] {b} {t}. How many {t} are in {a} [of them|boxes|bags|packs|rows][?|]", "{a} [friends|pupils|people|girls|boys] [bring|own|have|carry] {b} {t} each. How many {t} [in total|altogether|are there|is that in all][?|]", "{n} [gets|makes|buys|sells] {b} {t} [every|each|a] day. How many {t} [in|after] {a} days[?|]", "One [box|bag] has {b} {t}. How many {t} do {a} [boxes|bags] have[?|]", "With {b} {t} on each of {a} [plates|shelves|tables], how many {t} are there[?|]"],
                     ["Each of {a} children has {b} {t}. How many {t} do they have together?", "{n} fills {a} jars and puts {b} {t} in every jar. How many {t} is that?"], n=n, a=a, b=b, t=t)
        return Exchange(user, f"{a} x {b} = {a * b}, so the answer is {a * b} {t}.", [f"= {a * b},"])
    b, r = d.int(2, 10), d.int(1, 10)
    user = d.ask(["{n} shares {a} {t} [equally |evenly |]among {b} [friends|children|people]. How many [{t} |]does each [one |]get[?|]", "[If |]{b} [friends|children|people] share {a} {t} [equally|evenly][.|, how|. How] many [{t} |]does each [one |person |]get[?|]", "{n} [divides|deals out|gives out] {a} {t} [equally |evenly |fairly |]to {b} [friends|pupils|people|kids]. How many [{t} |][for each|does everyone get|does each person get|does each one have][?|]", "[There are|We have] {a} {t} for {b} [kids|friends|people|players]. Everyone gets the same. How many [{t} |][each|does each get|per person][?|]", "{n} packs {a} {t} [in|into] {b} [bags|boxes|packs] with the same number in each. How many [{t} |][are in each|per bag|in one][?|]", "{a} {t} [fill|make|go into] {b} [equal |][rows|piles|bags|teams]. How many [{t} |]are in [each|one|every] [row|pile|bag|team][?|]", "Divide {a} {t} among {b} [friends|people|kids]. How many does each get[?|]"],
                 ["{a} {t} are split between {b} children. How many {t} for each child?", "{n} puts {a} {t} into {b} equal groups. How many {t} are in a group?"], n=n, a=b * r, b=b, t=t)
    return Exchange(user, f"{b * r} divided by {b} = {r}, so each gets {r} {t}.", [f"= {r},"])


def compare(d):
    a, b = d.kept(lambda: (d.int(0, d.pick([10, 99, 99])), d.int(0, d.pick([10, 99, 99]))))
    if a == b:
        b += 1
    big = d.chance(0.6)
    r = max(a, b) if big else min(a, b)
    user = d.ask(["[Which|What] [number |]is [{w}|the {w} number|the {w} one][:|,|] {a} or {b}[?|]", "Is {a} {w} than {b}[?|]", "Which [of these |]is {w}, {a} or {b}[?|]", "[Which number is {w}|Tell me which is {w}] between {a} and {b}[?|]", "[Pick|Choose|Name|Give me|Find] the {w} [one|number][:| of| from| out of] {a} [and|or] {b}[.|]", "Is {a} {w} than {b} or not[?|]", "[What|Which] is the {w} of [the two|these two|the numbers|these][:|,] {a} [and|or] {b}[?|]", "Here are two numbers[:|,] {a} and {b}. [Which|What] [one |number |]is {w}[?|]", "Which has the {w} value, {a} or {b}[?|]", "I have {a} and {b}. [Which one|Which] is {w}[?|]", "Do you think {a} is {w} than {b}[?|]", "Between {a} and {b}, [which|what] [number |]is [the |]{w}[ one|][?|]", "{a} and {b}: [the {w} one|name the {w} one|which is the {w} number][?|.|]"],
                 ["Of {a} and {b}, which one is {w}[?|]", "{a} or {b}, which is {w}[?|]", "Compare {a} and {b}: which is {w}[?|]"],
                 w=d.pick(["bigger", "larger", "greater"] if big else ["smaller", "less"]), a=a, b=b)
    w = re.search(r"bigger|larger|greater|smaller|less", user).group()
    if user.startswith("Is "):
        yes = (a > b) == big
        return Exchange(user, f"{'Yes' if yes else 'No'}, {a} is {w if yes else 'not ' + w + ' than ' + str(b)}{' than ' + str(b) if yes else ''}.", ["Yes" if yes else "No"])
    return Exchange(user, f"{r} is {w} than {a + b - r}.", [f"^{r} is"])


def parity(d):
    (n,) = d.kept(lambda: (d.int(0, d.pick([20, 99])),))
    k = "even" if n % 2 == 0 else "odd"
    user = d.ask(["Is {n} [an |][even|odd][ number|][?|]", "Is {n} [even or odd|odd or even][?|]", "Is the number {n} [even or odd|odd or even|even|odd][?|]", "[Tell me if|Say whether] {n} is [even or odd|odd or even][.|]", "Do we call {n} an [even|odd] number[?|]", "[Check|Decide] [if|whether] {n} is [even|odd|odd or even][.|]", "Is {n} one of the [even|odd] numbers[?|]", "{n} is [even|odd], right?", "What kind of number is {n}, odd or even[?|]"],
                 ["{n}: even or odd[?|]", "Would you call {n} [even|odd][?|]", "What is {n}, even or odd[?|]"], n=n)
    return Exchange(user, f"{n} is an {k} number.", [f"{n} is an {k}"])


def counting(d):
    k = d.int(0, 4)
    if k == 0:
        a = d.pick([1, 1, 1, d.int(1, 20)])
        b = a + d.int(2, 11)
        word = d.chance(0.3) and b <= 20
        user = d.ask(["[Please |Can you |]count from {a} to {b}[.|?|]", "Count [up |]from {a} to {b}[.|]", "[List|Say|Give me|Write] the numbers from {a} to {b}[.|]", "[Let us|Let's|Could you] count from {a} [up |]to {b}[.|?|]", "[Show me|Tell me|Write down|I need] [all |][the |]numbers [{a} to {b}|between {a} and {b}, with both|from {a} up to {b}][.|]", "Go from {a} to {b}[.|]", "{a} to {b}, count[ please|][.|]", "Begin with {a} and stop at {b}[.|]"] + (["[Please |Can you |]count [up |]to {b}[.|?|]"] if a == 1 else []),
                     ["I want you to count from {a} to {b}[.|]", "Start at {a} and count to {b}[.|]"], a=a, b=NUMBER_WORDS[b] if word and a == 1 else b)
        return Exchange(user, ", ".join(map(str, range(a, b + 1))) + ".", [f"{b - 1}, {b}."])
    if k == 1:
        b = d.int(3, 10)
        return Exchange(d.ask(["[Please |Can you |]count [down|backwards] from {b}[ to 1| to one|][.|?|]", "Count back from {b}[ to 1|][.|]", "[Count|Go] [down|backwards] [starting at|starting with|beginning at] {b}[.|]", "Say the numbers from {b} down to 1[.|]", "Give me a countdown starting at {b}[.|]", "From {b} [down |]to 1, count backwards[.|]"], ["Do a countdown from {b}[.|]", "Start at {b} and count down[.|]"], b=b),
                        ", ".join(map(str, range(b, 0, -1))) + ".", ["2, 1."])
    if k == 2:
        n, after = d.int(1, d.pick([20, 99, 200])), d.chance(0.5)
        w = "after" if after else "before"
        user = d.ask(["[What|Which] number comes [right |just |]{w} {n}[?|]", "What comes {w} {n}[?|]", "What is the number {w} {n}[?|]", "[Give me|Name|Say] the number [right |just |]{w} {n}[.|]", "[What|Which] number [follows|is next to] {n}, {w} it[?|]", "If I count, what comes [right |]{w} {n}[?|]", "{w} {n} comes which number[?|]", "{w} {n} comes[?|]"],
                     ["Tell me the number that comes {w} {n}[.|]", "Which number is {w} {n}[?|]"], w=w, n=n)
        r = n + 1 if after else n - 1
        return Exchange(user, f"{r} comes {w} {n}.", [f"^{r} comes"])
    if k == 3:
        step = d.pick([2, 5, 10, 3])
        n = d.int(4, 8)
        return Exchange(d.ask(["Count by {s}s to {e}[.|]", "[Please |Can you |]count in {s}s [up |]to {e}[.|?|]", "[Count|Go] up in steps of {s} [to|till|up to] {e}[.|]", "[List|Say|Give me|Write] the {s}s up to {e}[.|]", "Count to {e} by {s}s[.|]", "Jump by {s} [up |]to {e}[.|]", "[Jump|Step] in {s}s and stop at {e}[.|]"], ["Skip count by {s}s until {e}[.|]"], s=step, e=step * n),
                        ", ".join(str(step * i) for i in range(1, n + 1)) + ".", [f"{step * n}."])
    xs = [d.int(0, 99) for _ in range(3)]
    big = d.chance(0.5)
    user = d.ask(["[What|Which] [number |]is the {w}[:|,| of] {x}[?|]", "[Find|Tell me|Give me] the {w} [number |]of {x}[.|]", "[From|Out of|In|In the list] {x}[,|:] [pick|name|find|give me|tell me] the {w}[ one| number|][.|]", "I have the numbers {x}. [Which|What] [one |]is the {w}[?|]", "[Pick|Choose|Say] the {w}[ number| one|][:| from| in] {x}[.|]", "Here are three numbers: {x}. [Name|Tell me] the {w}[ one|][.|]", "Of the numbers {x}, which is the {w}[ one|][?|]", "Which of these numbers is the {w}[:|,|?] {x}[?|]"], ["Look at {x}. Which is the {w}[?|]", "Among {x}, what is the {w}[?|]"],
                 w=d.pick(["biggest", "largest", "greatest"] if big else ["smallest", "lowest"]), x=listing(list(map(str, xs))))
    return Exchange(user, f"{max(xs) if big else min(xs)}.", [f"^{max(xs) if big else min(xs)}."])


UNITS = [("minute", "hour", 60), ("second", "minute", 60), ("hour", "day", 24), ("day", "week", 7), ("month", "year", 12), ("week", "year", 52), ("year", "decade", 10), ("year", "century", 100),
         ("centimeter", "meter", 100), ("millimeter", "centimeter", 10), ("meter", "kilometer", 1000), ("gram", "kilogram", 1000), ("milliliter", "liter", 1000), ("kilogram", "ton", 1000),
         ("cent", "dollar", 100), ("inch", "foot", 12), ("foot", "yard", 3), ("egg", "dozen", 12), ("milligram", "gram", 1000), ("ounce", "pound", 16)]
SHORT = {"centimeter": "cm", "meter": "m", "millimeter": "mm", "kilometer": "km", "gram": "g", "kilogram": "kg", "milliliter": "ml", "liter": "l", "milligram": "mg"}


def many(n, unit):
    plural = {"inch": "inches", "foot": "feet", "century": "centuries"}.get(unit, unit if unit == "dozen" else unit + "s")
    return f"{n} {unit if n == 1 else plural}"


def units(d):
    small, large, f = d.pick(UNITS)
    n = d.pick([1, 1, 1, d.int(2, 12), d.int(2, 12), d.int(2, 12)]) if f not in (52, 16) else d.pick([1, 1, 2])
    s = many(2, small)[2:]
    if d.chance(0.25):  # the other way: "120 minutes in hours"
        user = d.ask(["How many {l} are [in |]{x}[?|]", "Convert {x} [to|into] {l}[.|]", "[What is {x} in|How much is {x} in] {l}[?|]"],
                     ["{x} is how many {l}[?|]", "Change {x} into {l}[.|]"], x=many(f * n, small), l=many(2, large)[2:])
        return Exchange(user, f"{many(f * n, small)} {'is' if f * n == 1 else 'are'} {many(n, large)}.", [f"are {many(n, large)}."])
    one = ("an " if large == "hour" else "a ") + large if n == 1 and d.chance(0.6) else many(n, large)
    if small in SHORT and large in SHORT and d.chance(0.3):
        s, one = SHORT[small], f"{n} {SHORT[large]}"
    user = d.ask(["How many {s} are [there |]in {one}[?|]", "How many {s} [does {one} have|is {one}|in {one}|make {one}|are {one}][?|]", "Convert {one} [to|into] {s}[.|]", "[What is|How much is] {one} in {s}[?|]", "How many {s} [are|is] {one}[?|]"],
                 ["{one} is how many {s}[?|]", "Tell me how many {s} there are in {one}[.|]", "Change {one} into {s}[.|]", "Express {one} in {s}[.|]"], s=s, one=one)
    return Exchange(up(user) if not user[0].isdigit() else user, f"{up(many(n, large))} {'is' if n == 1 else 'are'} {many(f * n, small)}.", [f"{many(f * n, small)}."])


# ---------------------------------------------------------------- facts

def capital(d):
    (country, cap, cont), other = d.pick(CAPITALS), d.pick(CAPITALS)
    k = d.int(0, 9)
    if k < 6:
        return Exchange(d.ask(["[What is|What's|Tell me|Name|Give me|Do you know|Can you tell me] the capital[ city|] of {c}[?|]", "[What|Which city] is {c}'s capital[ city|][?|]", "[What|Which] city is the capital of {c}[?|]", "Capital of {c}[?|]", "The capital of {c} is[?| what?|]"],
                              ["{c} has which capital[?|]", "I forgot the capital of {c}. What is it?", "In {c}, what is the capital[?|]", "Please name {c}'s capital[ for me|][.|]"], c=country),
                        f"The capital of {country} is {cap}.", [cap], follow=[(d.fill("[And|What about|And what about|How about] {c}?", c=other[0]), f"The capital of {other[0]} is {other[1]}.")])
    if k < 8:
        return Exchange(d.ask(["{x} is the capital of [which|what] country[?|]", "[Which|What] country has {x} as its capital[?|]", "[Which|What] country is {x} the capital of[?|]", "In [which|what] country is {x}[?|]"],
                              ["Of which country is {x} the capital[?|]", "Name the country whose capital is {x}[.|]"], x=cap),
                        f"{cap} is the capital of {country}.", [country])
    return Exchange(d.ask(["[On|In|] [what|which] continent is {c}[?|]", "Where is {c}[?|]", "Where is {c} located[?|]", "[What|Which] continent is {c} [in|on|part of][?|]"],
                          ["{c} is on which continent[?|]", "Tell me the continent of {c}[.|]", "Which part of the world is {c} in[?|]"], c=country).lstrip(),
                    f"{up(country)} is in {cont}.", [cont])


def animal(d):
    k = d.int(0, 3)
    if k == 0:
        a, s = d.pick(SOUNDS)
        return Exchange(d.ask(["What sound does {a} make[?|]", "What [noise|sound] do {p} make[?|]", "What does {a} say[?|]", "[Tell me the|The] sound [of {a}|that {a} makes][.|?|]"],
                              ["Which sound would {a} make[?|]", "How does {a} sound[?|]", "How do {p} go[?|]"], a=an(a), p=plural(a)), f"{up(an(a))} says \"{s}\".", [s])
    if k == 1:
        a, b = d.pick(BABIES)
        return Exchange(d.ask(["What is a baby {a} called[?|]", "What do you call a baby {a}[?|]", "What is the name [of|for] a baby {a}[?|]", "What do we call a young {a}[?|]", "[A|The] [baby|young] [of {x}|{a}] is called[ what|][?|]"],
                              ["Which word means a baby {a}[?|]", "How is a baby {a} called[?|]", "Name the young of {x}[.|]"], a=a, x=an(a)), f"A baby {a} is called {an(b)}.", [b])
    if k == 2:
        a, h = d.pick(HOMES)
        return Exchange(d.ask(["Where does {a} live[?|]", "Where do {p} live[?|]", "What is the home of {a}[ called|][?|]", "Where can I find {a}[?|]"],
                              ["In what kind of place does {a} live[?|]", "Tell me where {p} live[.|]"], a=an(a), p=plural(a)), home(a, h), [h])
    a, n = d.pick(LEGS)
    return Exchange(d.ask(["How many legs does {a} have[?|]", "How many legs do {p} have[?|]", "How many legs has {a} got[?|]", "[What is the|Tell me the] number of legs of {a}[?|]"],
                          ["Count the legs of {a}[.|]", "{A} has how many legs[?|]"], a=an(a), A=up(an(a)), p=plural(a)), f"{up(an(a))} has {n if n != '0' else 'no'} legs.", [n if n != "0" else "no"])


def plural(w):
    return {"mouse": "mice", "goose": "geese", "wolf": "wolves", "fish": "fish", "sheep": "sheep", "deer": "deer", "butterfly": "butterflies", "fly": "flies", "fox": "foxes"}.get(w, w + "s")


def home(a, h):
    at = {"monkey": "in trees", "camel": "in the desert", "fish": "in water", "penguin": "near ice and cold sea", "whale": "in the ocean", "polar bear": "in the Arctic", "kangaroo": "in Australian grassland"}
    return f"{up(an(a))} lives {at.get(a, 'in ' + an(h) if a != 'spider' else 'on a web')}."


def colour(d):
    t, c = d.pick(COLOURS)
    return Exchange(d.ask(["What [color|colour] is {t}[?|]", "[What is|What's|Tell me] the [color|colour] of {t}[?|]", "Which [color|colour] does {t} have[?|]", "What [color|colour] does {t} have[?|]"],
                          ["{t} is what [color|colour][?|]", "Name the [color|colour] of {t}[.|]", "If I look at {t}, which [color|colour] do I see[?|]"], t=t), f"{up(t)} is {c}.", [c])


def word_fact(d):
    k = d.int(0, 5)
    quote = d.pick(["{}", "\"{}\"", "'{}'", "the word {}", "{}"])
    if k == 0:
        a, b = d.pick(OPPOSITES)
        if d.chance(0.4) and [y for _, y in OPPOSITES].count(b) == 1 and b not in dict(OPPOSITES):
            a, b = b, a
        return Exchange(d.ask(["[What is|What's|Tell me|Give me] the opposite of {w}[?|]", "Opposite of {w}[?|]", "What is the [antonym|reverse] of {w}[?|]", "[What word|Which word] is the opposite of {w}[?|]", "Give me an antonym [of|for] {w}[.|]", "[Do you know|Can you tell me|Could you give me|I need|Find|Say] the opposite [of|to] {w}[?|.|]", "[What|Which word] is opposite to {w}[?|]", "If it is not {w}, what is it[?|]", "[What|Which] is the contrary of {w}[?|]", "The opposite of {w} is[?| what?|]", "[Tell me|Find] [a word that is opposite to|a word opposite to|the antonym of] {w}[.|]", "{w}: [opposite|antonym][?|]", "Not {w} but[?|]", "The antonym of {w}[?|]"],
                              ["{w} is the opposite of what[?|]", "What word means the opposite of {w}[?|]", "Name the opposite of {w}[.|]"], w=quote.format(a)), f"The opposite of {a} is {b}.", [f"is {b}."])
    if k == 1:
        a, b = d.pick(PLURALS)
        return Exchange(d.ask(["[What is|What's|Tell me|Give me] the plural [form |]of {w}[?|]", "Plural of {w}[?|]", "[What|How] do you [call|say] more than one {a}[?|]", "How do you make {w} plural[?|]", "[Do you know|Can you tell me|Could you give me|I need|Find|Say|Write] the plural [form |]of {w}[?|.|]", "[Put|Write|Make] {w} [into|as] [the|a] plural[.|]", "If there are [two|many|three] of them, what is {w} then[?|]", "{w}: plural[?|]", "The plural of {w} is[?| what?|]", "I have one {a}. What do I have when there are [two|three][?|]", "Many times {w} is what[?|]", "First there was one {a}, then there were many[?|...|]", "What is the word for [two or more|many] of {w}[?|]", "What does {w} become when there are many[?|]"],
                              ["What is {w} in the plural[?|]", "One {a}, two what[?|]", "Name the plural of {w}[.|]"], w=quote.format(a), a=a), f"The plural of {a} is {b}.", [f"is {b}."])
    if k == 2:
        a, b = d.pick(PAST)
        return Exchange(d.ask(["[What is|What's|Tell me|Give me] the past [tense |form |]of {w}[?|]", "Past tense of {w}[?|]", "[What is|Put] {w} in the past[ tense|][?|]", "How do you say {w} in the past[ tense|][?|]", "[Do you know|Can you tell me|Could you give me|I need|Find|Say|Write] the past [tense |form |]of {w}[?|.|]", "[Turn|Make] {w} into [a |the |]past [tense|form][.|]", "{w}: past tense[?|]", "Today I {a}, yesterday I [what?|...|]", "The past [tense |]of {w} is[?| what?|]", "What does {w} become in the past[?|]", "If it happened yesterday, what is the form of {w}[?|]"],
                              ["Name the past tense of {w}[.|]", "Which word is the past tense of {w}[?|]", "Change {w} to the past tense[.|]"], w=quote.format(a), a=a), f"The past tense of {a} is {b}.", [f"is {b}."])
    if k == 3:
        g = d.pick(RHYMES)
        i = d.int(0, len(g) - 1)
        w, r = g[i], g[(i + 1) % len(g)]
        return Exchange(d.ask(["[What|Which word] rhymes with {w}[?|]", "[Tell me|Give me|Find|Name] a [word that rhymes with|rhyme for] {w}[.|]", "[Can you find|Do you know] a rhyme for {w}[?|]", "[Can you tell me|Could you give me|Say|Please find|Look for|I want] [a word that rhymes with|something that rhymes with|a rhyme for|a rhyme with] {w}[.|?|]", "[What|Which words|What words] could rhyme with {w}[?|]", "{w} rhymes with[?| what?|]", "Make a rhyme [with|for] {w}[.|]", "Rhyme {w} with something[.|]", "For my poem I need something that rhymes with {w}[.|]", "What is a [good |]rhyme for {w}[?|]", "Which word has the same sound at the end as {w}[?|]", "{w}: rhyme[?|]", "What ends like {w}[?|]"],
                              ["I need a rhyme for {w}[.|]", "Which word sounds like {w}[?|]"], w=quote.format(w)), f"{up(r)} rhymes with {w}.", [tuple(x for x in g if x != w)])
    if k == 4:
        a, b = d.pick(SYNONYMS)
        return Exchange(d.ask(["[What is|Give me|Tell me|Find] a synonym [of|for] {w}[?|]", "[What is|Give me|Tell me] another word for {w}[?|]", "[What word|Which word] means the same as {w}[?|]", "Synonym for {w}[?|]", "[Do you know|Can you tell me|Could you give me|I need|Say] [a synonym of|a synonym for|another word for|a similar word to|a different word for] {w}[?|.|]", "[What|Which] word is [close to|similar to|like] {w}[?|]", "How [else |]can [I|you|we] say {w}[ in another way| differently|][?|]", "Say {w} in another word[.|]", "{w}: synonym[?|]", "{w} means the same as[?| what?|]", "[Replace|Swap] {w} with another word[.|]", "What is a different word [for|that means] {w}[?|]", "Which word could I use instead of {w}[?|]", "Another word for {w} is[?|]", "What word has the meaning of {w}[?|]"],
                              ["What else can I say for {w}[?|]", "Name a word with the same meaning as {w}[.|]"], w=quote.format(a)), f"Another word for {a} is {b}.", [f"is {b}."])
    w = d.pick(SPELL)
    if d.chance(0.3):
        first = d.chance(0.6)
        return Exchange(d.ask(["What is the {k} letter of {w}[?|]", "[Which|What] letter does {w} {v} with[?|]", "What letter {v}s {w}[?|]" if first else "[Which|What] letter does {w} {v} in[?|]", "[Say|Give me|Name|I need] the {k} letter [of|in] {w}[.|]", "{w} {v}s with [which|what] letter[?|]", "Which is the {k} letter in {w}[?|]", "The {k} letter of {w} is[?|]", "What is the letter at the {v} of {w}[?|]"],
                              ["Tell me the {k} letter of {w}[.|]", "{w} has which {k} letter[?|]"], k="first" if first else "last", v="start" if first else "end", w=quote.format(w)),
                        f"The {'first' if first else 'last'} letter of {w} is {(w[0] if first else w[-1]).upper()}.", [f"is {(w[0] if first else w[-1]).upper()}."])
    return Exchange(d.ask(["How do you spell {w}[?|]", "[Please |Can you |]spell {w}[ for me|][.|?|]", "[What is|Tell me|Give me] the spelling of {w}[?|]", "How is {w} spelled[?|]", "[Show me|Tell me|Explain] how to spell {w}[.|]", "[Do you know|Could you tell me] how {w} is [spelled|written][?|]", "Write {w} letter by letter[.|]", "Say the letters of {w}[.|]", "{w}: how is it spelled[?|]", "How do [I|we] write {w}, letter by letter[?|]", "What are the letters of {w}[?|]"],
                          ["I need the spelling of {w}[.|]", "Spell out {w}[.|]", "Which letters are in {w}[?|]"], w=quote.format(w)), f"{up(w)} is spelled {'-'.join(w.upper())}.", ["-".join(w.upper())])


DAYS = words("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
MONTHS = words("January, February, March, April, May, June, July, August, September, October, November, December")
LENGTH = dict(zip(MONTHS, [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]))


def calendar(d):
    k = d.int(0, 3)
    xs, w = (DAYS, "day") if d.chance(0.5) else (MONTHS, "month")
    i = d.int(0, len(xs) - 1)
    if k <= 1:
        after = d.chance(0.5)
        r, o = xs[(i + (1 if after else -1)) % len(xs)], "after" if after else "before"
        return Exchange(d.ask(["[What|Which] {w} comes [right |]{o} {x}[?|]", "What comes {o} {x}[?|]", "[What|Which] {w} is {o} {x}[?|]", "What is the {w} {o} {x}[?|]"],
                              ["Tell me the {w} {o} {x}[.|]", "Name the {w} that comes {o} {x}[.|]"], w=w, o=o, x=xs[i]), f"{r} comes {o} {xs[i]}.", [f"{r} comes"])
    if k == 2:
        m = d.pick(MONTHS)
        tail = " (29 in a leap year)" if m == "February" else ""
        return Exchange(d.ask(["How many days [are|are there] in {m}[?|]", "How many days does {m} have[?|]", "How long is {m}[?|]"],
                              ["{m} has how many days[?|]", "Tell me the number of days in {m}[.|]"], m=m), f"{m} has {LENGTH[m]} days{tail}.", [str(LENGTH[m])])
    if d.chance(0.5):
        n = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"][i]
        return Exchange(d.ask(["[What|Which] is the {n} {w} of the {p}[?|]", "[What is|What's] the {n} {w}[ of the {p}|][?|]"], ["Name the {n} {w} of the {p}[.|]"], n=n, w=w, p="week" if w == "day" else "year"),
                        f"The {n} {w} of the {'week' if w == 'day' else 'year'} is {xs[i]}.", [f"is {xs[i]}"])
    return Exchange(d.ask(["[List|Name|What are|Tell me|Give me] [all |]the {x}[.|?|]", "[Can you |Please ]list the {x}[.|?|]"], ["I want to know all the {x}[.|]", "Write down the {x}[.|]"], x="days of the week" if w == "day" else "months of the year"),
                    listing(xs) + ".", [f"and {xs[-1]}."])


WH_WRAP = ["{Q}?", "{Q}?", "{Q}", "{q}?", "{q}", "[Please tell me|I have a question|Quick question|Question][,|:] {q}?", "[Hey|Hi|Hello][,|!] {q}?", "Do you know {q}?", "I want to know {q}.", "{Q}, please?", "So {q}?", "[Can|Could] you tell me {q}?", "[I am curious|Let me ask|Let me ask you|Next question|Another question|I have one|Help me]: {q}?", "[My teacher|My son|My mother|A child] wants to know {q}.", "{Q}? [I forgot.|I am not sure.|Please tell me.|Do you know?|Thanks.]", "I forgot {q}.", "[Any idea|Would you know|Do you happen to know] {q}?"]
WH_HELD = ["I was wondering, {q}?", "My little brother asked me {q}. Do you know?", "One more thing: {q}?", "Here is a question for you. {Q}?", "{Q}? I would love to know."]


def general(d):
    q, a, key = d.pick(GENERAL)
    return Exchange(d.ask(WH_WRAP, WH_HELD, q=q, Q=up(q)), a, [key])


def why(d):
    q, a = d.pick(WHYS)
    return Exchange(d.ask(["Why {q}?", "Why {q}", "[Can|Could] you [explain|tell me] why {s}?", "[Tell me|Explain] why {s}.", "What is the reason[ that|:] {s}?", "[Hey|Hi][,|!] why {q}?", "Do you know why {s}?"],
                          ["I always wondered why {s}.", "How come {s}?", "My daughter wants to know why {s}.", "Please help me understand why {s}."], q=q, s=stated(q)), a, [a.split()[-1].strip(".")])


def stated(q):
    """The word order of a clause: "is the sky blue" to "the sky is blue"."""
    verb, rest = q.split(" ", 1)
    if verb == "do":
        return rest
    if verb == "does":
        parts = rest.split(" ")
        i = next(i for i, p in enumerate(parts) if p in ("rain", "float", "shine"))
        return " ".join(parts[:i] + [parts[i] + "s"] + parts[i + 1:])
    subject, rest = rest.split(" ", 2 if rest.startswith("the ") else 1)[:-1], rest.split(" ", 2 if rest.startswith("the ") else 1)[-1]
    return f"{' '.join(subject)} is {rest}"


def purpose(d):
    k = d.int(0, 2)
    if k == 0:
        t, p = d.pick(PURPOSES)
        return Exchange(d.ask(["What [is|are] {t} [used for|for][?|]".replace("[is|are]", "are" if t in ("scissors", "glasses") else "is"), "What do [you|we|people] use {t} for[?|]", "What can I do with {t}[?|]", "What do [you|people] do with {t}[?|]", "What is the [purpose|function|point|job] of {t}[?|]", "What [good is {t}|does {t} help with|do I do with {t}][?|]", "[Explain|Say|Do you know|Can you tell me] what {t} [is for|is used for|does][.|?|]", "How [do|can] [people|we|I] use {t}[?|]", "When do [people|we|you] use {t}[?|]", "[Who needs|Why use|Why do we use] {t}[?|]", "How is {t} [useful|helpful][?|]", "{t}: [what for|what is it for|use|purpose][?|]", "What could I use {t} for[?|]", "For what do [people|we] use {t}[?|]", "I have {t}. What can I do with it?", "Should I buy {t}? What is it for?"],
                              ["Why would I need {t}[?|]", "Tell me the use of {t}[.|]", "Why do people have {t}[?|]"], t=t), f"You use {t} to {p}.", [p])
    if k == 1:
        j, p = d.pick(JOBS)
        return Exchange(d.ask(["What does {j} do[?|]", "What is the job of {j}[?|]", "[Tell me|Explain] what {j} does[.|]", "What is {j}[?|]", "Who is {j}[?|]", "What [are|is] the [tasks|duty|duties|task] of {j}[?|]", "What do people who work as {j} do[?|]", "[Explain|Say|Do you know|Can you tell me] [the job of {j}|what {j} does|what {j} does all day][.|?|]", "[What does|How does] {j} [spend the day|do at work|work][?|]", "If I become {j}, what will I do[?|]", "Tell me about the job of {j}[.|]", "{j}: what is the job[?|]", "I met {j}. What does that person do?", "What is it that {j} does[?|]", "What would I do as {j}[?|]"],
                              ["What kind of work does {j} do[?|]", "Describe the work of {j}[.|]"], j=j), f"{up(j)} {p}.", [p])
    w, m = d.pick(DEFINITIONS)
    bare = re.sub(r"^(an?|the) ", "", w)
    return Exchange(d.ask(["What is {w}[?|]", "What's {w}[?|]", "[Define|Explain] {b}[.|]", "What does [the word |]{b} mean[?|]", "What does \"{b}\" mean[?|]", "[Can you |Please |]explain what {w} is[.|]", "Tell me what {w} is[.|]", "What is the [meaning|definition] of [the word |]{b}[?|]", "[Tell me|Say|Explain|I want to know] [the meaning of|what is meant by] {b}[.|]", "[Explain|Describe] {w}[ to me| in simple words| briefly|][.|]", "[Do you know|Can you say|Could you tell me] what {w} is[?|]", "{b}: [meaning|definition|what is it][?|]", "How [do|would] you [define|explain] {w}[?|]", "I do not know the word {b}. What is it?", "What exactly is {w}[?|]", "What sort of thing is {w}[?|]", "What is meant by {b}[?|]", "Meaning of {b}[?|]", "I read the word {b}. What does it mean?", "Please define {b}[.|]"],
                          ["What do people mean by {b}[?|]", "Give me a definition of {b}[.|]", "How would you describe {w}[?|]"], w=w, b=bare), f"{up(w)} is {m}.", [m])


KINDS = {w: k for k in ("fruits", "vegetables", "birds", "colors", "sports", "planets", "insects", "flowers", "animals", "drinks", "tools", "clothes", "languages", "shapes", "vehicles") for w in LISTS[k]}
CAN = [("fish", "swim", 1), ("fish", "fly", 0), ("bird", "fly", 1), ("dog", "bark", 1), ("dog", "fly", 0), ("cat", "climb", 1), ("cat", "fly", 0), ("horse", "run", 1), ("horse", "read", 0), ("penguin", "swim", 1), ("penguin", "fly", 0), ("duck", "swim", 1), ("duck", "fly", 1),
       ("elephant", "jump", 0), ("elephant", "fly", 0), ("snake", "walk", 0), ("frog", "jump", 1), ("frog", "swim", 1), ("lion", "roar", 1), ("cow", "fly", 0), ("cow", "talk", 0), ("monkey", "climb", 1), ("stone", "swim", 0), ("tree", "walk", 0), ("tree", "grow", 1), ("whale", "swim", 1), ("bee", "fly", 1), ("butterfly", "fly", 1), ("car", "fly", 0), ("plane", "fly", 1), ("pig", "fly", 0), ("rabbit", "jump", 1), ("kangaroo", "jump", 1)]
TRUE = [("is water wet", 1, "Yes, water is wet."), ("is the sun hot", 1, "Yes, the sun is very hot."), ("is ice cold", 1, "Yes, ice is cold."), ("is fire cold", 0, "No, fire is hot."), ("is the Earth round", 1, "Yes, the Earth is round."), ("is the Earth flat", 0, "No, the Earth is round."),
        ("is the moon made of cheese", 0, "No, the moon is made of rock."), ("is a whale a fish", 0, "No, a whale is a mammal."), ("is a spider an insect", 0, "No, a spider has eight legs and is not an insect."), ("is a tomato a fruit", 1, "Yes, a tomato is a fruit."), ("do plants need water", 1, "Yes, plants need water."),
        ("do fish live in water", 1, "Yes, fish live in water."), ("does the sun rise in the west", 0, "No, the sun rises in the east."), ("is snow black", 0, "No, snow is white."), ("is grass green", 1, "Yes, grass is green."), ("do cows give milk", 1, "Yes, cows give milk."), ("do cats bark", 0, "No, cats meow."),
        ("do dogs meow", 0, "No, dogs bark."), ("can people breathe under water", 0, "No, people cannot breathe under water."), ("is sugar sweet", 1, "Yes, sugar is sweet."), ("is a lemon sweet", 0, "No, a lemon is sour."), ("is an elephant bigger than a mouse", 1, "Yes, an elephant is bigger than a mouse."), ("is a mouse bigger than an elephant", 0, "No, a mouse is smaller than an elephant."),
        ("do humans need sleep", 1, "Yes, humans need sleep."), ("is the sun a star", 1, "Yes, the sun is a star."), ("is the moon a star", 0, "No, the moon is not a star."), ("is gold a metal", 1, "Yes, gold is a metal."), ("is wood a metal", 0, "No, wood is not a metal.")]


def yes_no(d):
    k = d.int(0, 3)
    if k == 0:
        w, kind = d.pick(list(KINDS.items()))
        right = d.chance(0.5)
        other = kind if right else d.pick([x for x in dict.fromkeys(KINDS.values()) if x != kind and w not in LISTS[x] and not (kind in ("birds", "insects") and x == "animals") and w != "orange" and not (w == "violet")] or [kind])
        right = other == kind
        one = {"clothes": "a piece of clothing"}.get(other, an(other[:-1]))
        word = w if kind in ("colors", "sports", "planets", "languages", "drinks") else an(w)
        kind1 = {"clothes": "a piece of clothing"}.get(kind, an(kind[:-1]))
        user = d.ask(["Is {w} {o}[?|]", "[Tell me, i|Hey, i|So i]s {w} {o}[?|]", "Is it true that {w} is {o}[?|]", "[Yes or no: i|True or false: i]s {w} {o}[?|]", "Do [you|people|we] [call|think of] {w} [as |]{o}[?|]", "Is {w} really {o}[?|]", "Am I right that {w} is {o}[?|]", "{w} is {o}, [right|true|correct|isn't it]?", "Does {w} count as {o}[?|]", "[I think|I believe|People say] {w} is {o}. [Is that true|Is that right|Right|Am I right]?", "Do you [think|believe|agree] [that |]{w} is {o}[?|]", "Can [we|you|I] say [that |]{w} is {o}[?|]", "[Check|Tell me] if {w} is {o}[.|]", "Is {w} a kind of thing we call {o}[?|]"], ["Would you say {w} is {o}[?|]", "Could {w} be {o}[?|]"], w=word, o=one)
        return Exchange(user, f"Yes, {word} is {one}." if right else f"No, {word} is {kind1}.", ["^Yes" if right else "^No"])
    if k == 1:
        w, v, y = d.pick(CAN)
        user = d.ask(["Can {w} {v}[?|]", "Can {p} {v}[?|]", "Is {w} able to {v}[?|]", "[Tell me|Do you know] if {w} can {v}[.|]", "Do {p} {v}[?|]", "Does {w} [know how to |]{v}[?|]", "Could {w} {v}[?|]", "[I think|People say] {w} can {v}. [Is that true|Is that right|Right]?", "{p} can {v}, [right|true|correct]?", "Is it true that {p} can {v}[?|]", "Do you [think|believe] [that |]{w} can {v}[?|]", "Would {w} be able to {v}[?|]", "[Yes or no: c|True or false: c]an {p} {v}[?|]", "Have you [seen|heard of] {w} that can {v}[?|]", "Can {p} really {v}[?|]"], ["Are {p} able to {v}[?|]", "Is it possible for {w} to {v}[?|]"], w=an(w), p=plural(w), v=v)
        return Exchange(user, f"{'Yes' if y else 'No'}, {an(w)} {'can' if y else 'cannot'} {v}.", ["^Yes" if y else "^No"])
    if k == 2:
        c, cap, cont = d.pick(CAPITALS)
        right = d.chance(0.5)
        o = cont if right else d.pick([x for x in COUNTRIES if x != cont])
        user = d.ask(["Is {c} in {o}[?|]", "Is {c} [a country in|part of|located in] {o}[?|]", "Does {c} lie in {o}[?|]", "[Is it true|Am I right|Do you agree] that {c} is in {o}[?|]", "{c} is in {o}, [right|true|correct|isn't it]?", "[I think|I believe|People say] {c} is in {o}. [Is that true|Is that right|Right]?", "[Yes or no: i|True or false: i]s {c} in {o}[?|]", "If I go to {c}, am I in {o}[?|]", "Does {c} belong to {o}[?|]", "Can we say {c} is [a part|one of the countries] of {o}[?|]", "Is {c} a place in {o}[?|]", "[Tell me|Check] if {c} is in {o}[.|]"], ["Would I find {c} in {o}[?|]", "Is it right that {c} is in {o}[?|]"], c=c, o=o)
        return Exchange(user, f"{'Yes' if right else 'No'}, {c} is in {cont}.", ["^Yes" if right else "^No", cont])
    q, y, a = d.pick(TRUE)
    return Exchange(d.ask(["{Q}?", "{Q}", "{q}?", "[Tell me|Yes or no|Quick question][,|:] {q}?", "[Hey|Hi][,|!] {q}?", "[So|Well], {q}?", "{Q}, yes or no?", "[Answer with|Answer] yes or no: {q}?", "[True or false|Let me ask|A question|Help me with this|My question is|Say]: {q}?", "{Q}? [Yes or no?|Tell me.|What do you think?|I am not sure.|True?]", "[Do you think, |In your view, |Really, ]{q}?", "My [sister|teacher|son|uncle] asks: {q}?"], ["I want a yes or no: {q}?", "My friend asked, {q}?", "Be honest: {q}?"], q=q, Q=up(q)), a, ["^Yes" if y else "^No"])


# ---------------------------------------------------------------- instructions

def make_list(d):
    kind = d.pick(list(LISTS))
    n = d.pick([2, 3, 3, 3, 4, 5])
    first = d.int(0, 2)
    xs = LISTS[kind][first:first + n]
    num = NUMBER_WORDS[n] if d.chance(0.6) else str(n)
    user = d.ask(["[List|Name|Give me|Tell me|Write|Show me|Think of] {n} {k}[.|, please.|]", "[Can|Could] you [list|name|give me|tell me] {n} {k}[?|]", "[What are|I need|I want] {n} [examples of |]{k}[?|.|]", "Please [list|name|give me] {n} {k}[.|]", "{n} {k}[, please|][.|]", "[Say|Pick|Choose|Find|Suggest|Type|Write down|Note down|Tell us] {n} {k}[.| for me.|]", "[Could you|Would you|Will you] [think of|write|write down|find|suggest|pick|say] {n} {k}[?|]", "[I am looking for|I'd like|Let me have|Let me see|Let us see|We need|Get me] {n} {k}[.|]", "[Which|What] {n} {k} [can you name|can you think of|come to mind|do you know of][?|]", "[Write|Give me|Create|Show me|I need] a [short |]list [with|that has] {n} {k}[.|]", "A list with {n} {k}[.|, please.|]", "[Can|Could] I [have|get|see] {n} {k}[?|]", "{k}: [name|list|give me] {n}[.| of them.|]", "[List|Name|Give] [exactly|just|only] {n} {k}[.|]", "[Name|List|Tell me] {n} [different|kinds of|examples of] {k}[.|]", "How about {n} {k}[?|]", "Help me think of {n} {k}[.|]", "For school I must [name|list|write] {n} {k}[.|]", "What would be {n} {k}[?|]"],
                 ["Come up with {n} {k}[.|]", "Do you know {n} {k}[?|]", "Make a list of {n} {k}[.|]", "I would like to hear {n} {k}[.|]"], n=num, k=kind)
    return Exchange(user, "\n".join(f"{i + 1}. {up(x)}" for i, x in enumerate(xs)), [("list", kind, n)])


ADJ = words("little, big, old, young, brave, happy, sleepy, clever, kind, quiet, funny, lonely, curious, tiny, strong, shy, gentle, golden, friendly, hungry")
NOUN = words("dog, cat, bird, fox, bear, rabbit, robot, dragon, girl, boy, king, queen, mouse, owl, farmer, teacher, horse, frog, whale, lion, turtle, pirate, wizard, princess, knight, fish, bee, monkey")
PHRASE = words("good morning, I love books, the sky is blue, hello world, happy birthday, see you soon, the cat sat on the mat, I like tea, time to go, the sun is up, we are friends, it is raining, have a nice day, rain in spring, my red coat, two old men, a cup of tea, the dog runs fast, birds sing at night, open the door")


def phrase(d):
    if d.chance(0.2):
        return d.pick(PHRASE)
    a, n = d.kept(lambda: (d.pick(ADJ), d.pick(NOUN)))
    verb, adverb = d.pick(words("runs, sings, sleeps, jumps, reads, eats, dances, waits, smiles, works")), d.pick(["", "", " today", " at night", " in the garden", " slowly", " in the rain", " at home"])
    return d.pick([f"the {a} {n} {verb}{adverb}", f"{an(a)} {n}", f"{a} {n}", f"my {n} is {a}", f"I see {an(a)} {n}", n, f"the {n} {verb}{adverb}"])


def repeat(d):
    p = phrase(d)
    if d.chance(0.65):
        q = d.pick(["{}", "\"{}\"", "'{}'"]).format(p)
        user = d.ask(["[Repeat|Say|Write|Echo] [after me|this|the following][:|,] {q}[.|]", "[Please |Can you |]repeat[:|] {q}[.|]", "[Say|Please say|Can you say] {q}[.|]" if "'" in q or '"' in q else "[Say|Please say][:|] {q}[.|]", "Copy this [text|sentence|phrase]: {q}"],
                     ["Type the words {q}[.|]", "I want you to say {q}[.|]", "Tell me exactly this: {q}"], q=q)
        return Exchange(user, p, [f"^{p}"])
    w = d.pick(NOUN)
    upper = d.chance(0.7)
    user = d.ask(["[Write|Say|Put|Type|Give me] {w} in {k}[.|]", "[Please |Can you |]{v} {w}[.|]", "[What is|How do you write] {w} in {k}[?|]"],
                 ["Show {w} in {k}[.|]", "I need {w} written in {k}[.|]"], w=d.pick(["{}", "\"{}\"", "the word {}", "'{}'"]).format(w if upper else w.upper()), k=d.pick(["uppercase", "capital letters", "upper case", "all caps"] if upper else ["lowercase", "small letters", "lower case"]), v="uppercase" if upper else "lowercase")
    return Exchange(user, w.upper() if upper else w.lower(), [f"^{w.upper() if upper else w.lower()}"])


def translate(d):
    lang = d.pick(list(TRANSLATE))
    w, t = d.pick(TRANSLATE[lang])
    q = d.pick(["{}", "\"{}\"", "'{}'"]).format(w)
    return Exchange(d.ask(["[How do you say|What is|Say|How to say] {q} in {l}[?|]", "[Please |Can you |]translate {q} [to|into] {l}[.|?|]", "What is the {l} word for {q}[?|]", "{q} in {l}[?|]", "What is {q} in {l}[?|]"],
                          ["Give me the {l} translation of {q}[.|]", "How would a {l} speaker say {q}[?|]", "I want to say {q} in {l}[.|]"], q=q, l=lang), f"\"{up(w)}\" in {lang} is \"{t}\".", [t])


SENTENCE = {"dog": "The dog runs in the park.", "cat": "The cat sleeps on the sofa.", "house": "The house has a red door.", "book": "I read a good book last night.", "tree": "A tall tree stands in the garden.", "rain": "The rain fell all day.", "sun": "The sun is warm today.", "friend": "My friend came to see me.", "happy": "The happy child laughed.", "school": "We walk to school together.",
            "river": "The river runs to the sea.", "music": "I listen to music in the evening.", "apple": "She ate a sweet apple.", "car": "The car stopped at the corner.", "moon": "The moon is bright tonight.", "train": "The train left on time.", "winter": "Winter is cold and white.", "garden": "Flowers grow in the garden.", "water": "Please drink some water.", "bird": "A bird sings in the morning.",
            "run": "I run every morning.", "blue": "The blue boat is mine.", "cake": "We baked a cake for her birthday.", "sea": "The sea was calm and clear.", "teacher": "The teacher wrote on the board.", "snow": "Snow covered the roof.", "robot": "The robot cleaned the floor.", "beautiful": "What a beautiful day it is.", "bread": "He bought fresh bread.", "star": "One star shone in the dark sky."}


def sentence(d):
    w, s = d.pick(list(SENTENCE.items()))
    q = d.pick(["{}", "\"{}\"", "the word {}", "the word \"{}\""]).format(w)
    return Exchange(d.ask(["[Write|Make|Give me|Form|Create] a sentence [with|using|about] {q}[.|]", "[Can you |Please |]use {q} in a sentence[.|?|]", "[Can you |Please ]make a sentence with {q}[.|?|]"],
                          ["Put {q} into a sentence[.|]", "I need a sentence that has {q} in it[.|]"], q=q), s, [w])


SCENES = {"the sea": ("Waves roll in and out", "the salt wind sings to the shore", "a gull calls me home"), "rain": ("Soft rain on the roof", "small drops dance upon the leaves", "the garden drinks deep"), "spring": ("Green buds on the branch", "a warm wind wakes the garden", "birds begin to sing"),
          "winter": ("White snow on the hill", "the quiet trees stand asleep", "stars are cold and clear"), "autumn": ("Red leaves falling down", "the wind carries them away", "the path turns to gold"), "summer": ("Long days full of light", "children run across the grass", "bees hum in the sun"), "the moon": ("Pale moon in the sky", "a silver path on the lake", "the night holds its breath"),
          "a cat": ("Soft paws on the stair", "two green eyes shine in the dark", "a small purr of joy"), "a dog": ("A wag at the door", "muddy paws and happy eyes", "my best friend is home"), "the forest": ("Tall trees touch the sky", "a stream runs over the stones", "the owl keeps its watch"), "love": ("Two hands in the rain", "a warm word at the window", "the heart finds its home"),
          "the night": ("The dark comes softly", "one lamp glows across the street", "dreams walk to my door"), "a river": ("The river runs on", "it carries the sky along", "down to the wide sea"), "friendship": ("A knock at my door", "bread and laughter on the table", "the long road grows short"), "the stars": ("Far fires in the dark", "they have burned a thousand years", "we make our wishes"),
          "a tree": ("Roots deep in the earth", "branches open to the light", "a nest in its arms"), "the sun": ("Gold light on the hill", "the morning opens its eyes", "the cold fades away"), "home": ("A light in the hall", "the kettle sings in the kitchen", "I take off my shoes"), "a bird": ("A small bird at dawn", "it sings to the waking town", "then flies to the sun"), "snow": ("Snow falls without sound", "the roofs wear a soft white coat", "footprints lead me home")}


def poem(d):
    s, (a, b, c) = d.pick(list(SCENES.items()))
    user = d.ask(["[Write|Make|Give me|Compose] [me |]a [poem|haiku|short poem|little poem|tiny poem] [about|on] {s}[.|]", "[Can|Could] you write [me |]a [poem|haiku|short poem] about {s}[?|]", "[I want|I would like|Please write] a [poem|haiku] about {s}[.|]", "[Poem|Haiku] about {s}[.|, please.|]"],
                 ["Try to write a few lines of poetry about {s}[.|]", "Let {s} be the topic of a [haiku|poem][.|]", "Tell me a poem about {s}[.|]"], s=s)
    return Exchange(user, f"{a},\n{b},\n{c}.", [c])


PLACES = words("in a small village, near a quiet lake, at the edge of a forest, on a high hill, by the sea, in a busy city, on a farm, in an old castle, under a big tree, on a tiny island, in a green valley, beside a river")
LOST = [("a red ball", "behind a bush"), ("a silver key", "under a stone"), ("a blue hat", "on a branch"), ("a little bell", "in the grass"), ("a map", "in an old box"), ("a book of songs", "on a bench"), ("a golden ring", "in a fish pond"), ("a warm scarf", "near the gate"), ("a bag of seeds", "beside the well"), ("a lantern", "by the bridge")]
HELPERS = words("owl, squirrel, crow, mouse, deer, frog, hedgehog, duck, snail, robin")


def story(d):
    who, place = d.kept(lambda: (d.pick(NOUN), d.pick(PLACES)))
    adj, name, helper, (thing, spot) = d.pick(ADJ), d.pick(NAMES), d.pick([h for h in HELPERS if h != who]), d.pick(LOST)
    named = d.chance(0.35)
    subject = d.pick([an(who), f"{an(adj)} {who}", plural(who) if not named else an(who)])
    user = d.ask(["[Tell|Write] [me |]a [short |little |tiny |bedtime |]story about {s}{n}[.|]", "[Can|Could] you [tell|write] [me |]a [short |]story about {s}{n}[?|]", "[Please |I want you to ][tell|write] a [short |]story [about|with] {s}{n}[.|]", "[Story|A story] about {s}{n}[, please|][.|]", "Make up a [short |]story about {s}{n}[.|]", "[I want|I'd like|I need|Give me|Let me have|Let me read] a [short |little |nice |good |bedtime |]story [about|with|of] {s}{n}[.|]", "[Invent|Create|Compose|Share|Read me|Begin|Start] a [short |little |nice |]story [about|with] {s}{n}[.|]", "[Could|Would|Will] you [make up|invent|share|read me] a [short |little |]story [about|with] {s}{n}[?|]", "[Know|Have you got|Got] a [short |good |]story about {s}{n}[?|]", "[My child wants|My daughter wants|We want|The children want] a story about {s}{n}[.|]", "Time for a [bedtime |]story about {s}{n}[.|!|]", "[Tell|Write] [me |us |]something about {s}{n}, like a story[.|]", "A [fairy story|bedtime story] of {s}{n}[, please|][.|]", "Once there was {s}{n}. Tell me the story[.|]", "[Can|May] I [hear|have|get] a story [with|about] {s}{n}[?|]", "Let {s}{n} be in a story[.|]"],
                 ["I would love to hear a [short |little |]story about {s}{n}[.|]", "Do you have a story about {s}{n}[?|]", "Let me hear a tale about {s}{n}[.|]"], s=subject, n=f" [named|called] {name}" if named else "")
    user = d.fill(user)
    kind = subject.split()[1] if subject.startswith(("a ", "an ")) and len(subject.split()) == 3 else adj
    p = d.pick(["Once upon a time", "Long ago", "One day"])
    problem = d.int(0, 3)
    lines = [f"{p}, there was {an(kind)} {who} named {name} who lived {place}."]
    if problem == 0:
        lines += [d.pick([f"One morning, {name} lost {thing}.", f"{name} had {thing}, but one day it was gone."]), d.pick([f"{name} looked everywhere and felt sad.", f"{name} searched all day long."]),
                  f"Then {an(helper)} came by and said, \"Let us look together.\"", f"They walked a long way, and at last they found {thing} {spot}.", d.pick([f"{name} was so happy that they danced until evening.", f"\"Thank you,\" said {name}, and they shared some cake."]), d.pick([f"From that day on, {name} and the {helper} were good friends.", f"And so {name} learned that friends make every search easier."])]
    elif problem == 1:
        fear = d.pick(["the dark", "thunder", "deep water", "high places", "loud noises"])
        lines += [f"{name} was afraid of {fear}.", f"One night, {name} heard a small voice crying for help.", f"It was {an(helper)} who was lost.", d.pick([f"{name} took a deep breath and went out to help.", f"\"I am coming,\" said {name}, and walked on, step by step."]),
                  f"Together they found the way home.", d.pick([f"After that, {name} was not afraid of {fear} any more.", f"{name} still did not like {fear}, but now {name} knew how to be brave."])]
    elif problem == 2:
        food = d.pick(["a big cake", "warm bread", "sweet berries", "a pot of soup", "honey and nuts"])
        lines += [f"One cold day, {name} had {food} for dinner.", f"There was a knock at the door, and outside stood a hungry {helper}.", f"\"Come in,\" said {name}, \"there is enough for two.\"", f"They ate {food} and told each other stories by the fire.",
                  d.pick([f"The next day, the {helper} came back with a gift: {thing}.", f"In spring, the {helper} brought {name} {thing} as a gift."]), d.pick(["A kind heart is never alone.", f"{name} smiled, for sharing had brought a new friend."])]
    else:
        dream = d.pick(["see the ocean", "climb the highest mountain", "learn to sing", "build a boat", "find the end of the rainbow", "touch the clouds"])
        lines += [f"More than anything, {name} wanted to {dream}.", d.pick([f"Everyone said, \"That is too hard for you.\"", f"\"It is too far,\" said the others."]), f"But {an(helper)} said, \"Try a little every day.\"", f"So {name} tried and tried, in sun and in rain.",
                  d.pick([f"At last, one bright morning, the dream came true.", f"One year later, {name} could do it at last."]), d.pick([f"{name} laughed with joy and thanked the {helper}.", f"Everyone cheered, and the {helper} cheered the loudest."])]
    again = Exchange(user, " ".join(lines), [who], least=45)
    if named:
        again.want.append(name)
    return again


def how_to(d):
    t, steps = d.pick(HOWTO)
    q = t.replace("your ", d.pick(["your ", "my "]))
    user = d.ask(["How [do|can|should] [I|you|we] {q}[?|]", "[Tell me|Show me|Explain|Teach me] how to {q}[.|]", "How to {q}[?|]", "[Can|Could] you [tell|teach|show] me how to {q}[?|]", "[Any tips|Give me some advice|I need help] on how to {q}[?|.|]", "What is the best way to {q}[?|]", "I want to {q}[.|] [How?|What should I do?|Any tips?]"],
                 ["What are the steps to {q}[?|]", "I do not know how to {q}. Please help.", "Give me instructions to {q}[.|]", "What do I need to do to {q}[?|]"], q=q)
    return Exchange(user, "\n".join(f"{i + 1}. {s}." for i, s in enumerate(steps)), [steps[0], steps[-1]])


def unknown(d):
    k = d.int(0, 4)
    if k == 0:
        return Exchange(d.ask(["What[ is|'s] the weather [like |]{t}[?|]", "[Will it|Is it going to] [rain|snow|be sunny|be cold|be hot] {t}[?|]", "[Is it|Will it be] [raining|sunny|cold|hot|warm] {t}[?|]", "[What is|Tell me] the [temperature|forecast] {t}[?|]", "How is the weather {t}[?|]", "Weather {t}[?|]", "[Can|Could] you [check|tell me|look up] the weather {t}[?|]", "[What kind of|Which] weather [do we have|will there be|is there] {t}[?|]", "[Should I take|Should I wear] [a coat|a jacket|warm clothes|sunglasses] {t}[?|]", "[How warm|How cold|How hot|How windy] is it {t}[?|]", "Will there be [snow|rain|sun|a storm|wind|clouds] {t}[?|]", "[Show|Tell] me the weather [forecast |]{t}[.|]", "Is the sun shining {t}[?|]", "Is [rain|snow|a storm] coming {t}[?|]", "Can we go [swimming|for a walk] {t}, or will it rain?", "What will the weather be {t}[?|]"],
                              ["Do I need an umbrella {t}[?|]", "Give me the weather report for {t}[.|]", "Should I expect rain {t}[?|]"], t=d.pick(["today", "tomorrow", "this weekend", "right now", "in " + d.pick(CAPITALS)[1], "outside", "here"])),
                        "I cannot know the weather, because I have no live data. Please check a weather service.", ["weather"])
    if k == 1:
        return Exchange(d.ask(["What time is it[ now| right now|][?|]", "What is [the time|today's date|the date|the date today][?|]", "What day is [it|today|it today][?|]", "What[ is|'s] [the news|in the news|happening in the world][ today|][?|]", "Who [won|is winning] the [game|match|election|race|cup][ yesterday| last night| today|][?|]", "What is the [price of [gold|bitcoin|oil|that stock]|stock price of that company][ today|][?|]", "What year is it[?|]", "Tell me [the latest news|the time|today's date][.|]", "[Can|Could] you [tell|show] me [the time|the news|today's news|the date|the score][?|]", "[What is|Give me|Show me] the [score|result] of the [game|match][ today| last night|][?|.|]", "How late is it[?|]", "What happened [today|in the world today|in the news|this week][?|]", "Did my team win[ today| yesterday|][?|]", "How much [does a stock cost|is gold|is one bitcoin|is oil|is a barrel of oil][ today| right now|][?|]", "[Read me|Check|Look up] [the news|the headlines|the time|stock prices|the date][.|]", "Who is [the president|leading the race|the champion] [now|at present|today][?|]", "Which [month|year|day|date] [do we have|is it][ today| now|][?|]", "[Have you heard|Did you see] the news[?|]", "Who scored [today|last night|yesterday][?|]", "Is the [shop|bank|store] open [now|today][?|]"],
                              ["Do you know what time it is[?|]", "Which team won last night[?|]", "Any news today[?|]", "What does [gold|oil|bitcoin] cost at the moment[?|]"]),
                        "I do not know that, because I have no clock and no live data.", [("live data",)])
    if k == 2:
        return Exchange(d.ask(["[I have|My child has] [a headache|a fever|chest pain|a rash|a bad cough|stomach pain|back pain][.| and|] [What should I [do|take]?|What is it?|Which medicine should I take?]", "[Which|What] medicine should I take for [a headache|a fever|a cough|back pain][?|]", "[Can|Should] I [sue|take legal action against] my [boss|landlord|neighbor][?|]", "[Is it legal to|Am I allowed to] [record a call|break a lease|drive without insurance][?|]", "Should I [invest in|buy|sell] [stocks|gold|bitcoin|a house][?|]", "How much [aspirin|medicine] can I take[?|]", "My [head|back|stomach|tooth|knee|throat|ear] hurts[.|,|. Please help.] [What can I do?|What should I do?|What helps?|Which medicine helps?|]", "[What|Which] [medicine|drug|treatment] [is good for|works for|helps with|should I use for] [a headache|the flu|chest pain|a rash|stomach pain|an infection][?|]", "[Do I have|Could this be] [the flu|an infection|a disease][?|]", "[Is|Are] [this rash|this pain|these pills] [dangerous|safe|serious][?|]", "[Should I|Can I|May I] [break my contract|divorce|go to court|call a lawyer|sign this contract|stop my medicine|mix pills][?|]", "My [neighbor|company|tenant] [broke the law|owes me money|broke a contract]. [What can I do?|Do I need a lawyer?|Is that legal?]", "[Which|What] [stock|shares|fund] should I [buy|sell|pick][?|]", "How should I use my money[?|]", "How do I get rich with [stocks|bitcoin][?|]", "I feel [sick|dizzy|a pain in my chest]. [Which pills do I need?|Is it serious?|Do I need medicine?]", "I need [legal|medical|financial] advice[.|]", "Is it a good idea to [borrow money|buy bitcoin|sell my house][?|]"],
                              ["What pills help against [a fever|a cough|back pain][?|]", "My [boss|landlord] did not pay me. Can I sue?", "Where should I invest my savings[?|]"]),
                        "I am not able to give advice on that. Please ask a qualified professional.", ["professional"])
    if k == 3:
        return Exchange(d.ask(["What is my [address|phone number|password|birthday|job|favorite song|mother's name|secret][?|]", "What am I [thinking|wearing|doing|holding][ now| right now|][?|]", "Where am I[ now|][?|]", "Who is [my neighbor|standing behind me|my boss][?|]", "What did I [do|eat|say] [yesterday|last week|this morning][?|]", "Who will win [the next election|the next game|the lottery][?|]", "What will happen [tomorrow|next year|in the future][?|]", "What is my name[?|]", "[Do you know|Who am I, do you know] my name[?|]", "[Do you know] what I am [thinking|doing|wearing|holding][ now| right now|][?|]", "[Do you know|Can you tell me] my [address|phone number|password|age|birthday|job|secret][?|]", "[Do you know|Say] what I [did|said|bought|dreamed] [yesterday|last night|last week][?|.|]", "What did I have for [breakfast|lunch|dinner][?|]", "[When|Where] [will I get married|will I die|will I find a job|did I put my keys|is my phone|are my keys][?|]", "Guess [what I have in my hand|what I dreamed|my age|who I am][.|]", "What number [am I thinking of|will win|do I have in mind][?|]", "Can you see me[ now|][?|]", "Who is [my father|my best friend|at the door|calling me][?|]", "How [old|tall|rich] am I[?|]", "[Tell me|Predict] [the future|my future|who will win the election][.|]", "Read my [mind|thoughts][.|]"],
                              ["Can you guess what I am [thinking|wearing][?|]", "Tell me what I ate [yesterday|this morning][.|]", "What are the next lottery numbers[?|]"]),
                        "I do not know that. You have not told me.", ["know"])
    t = d.pick(UNKNOWN_TOPICS)
    return Exchange(d.ask(["[Explain|Describe|Tell me about|Teach me] {t}[.|]", "What [is|are|do you know about|can you tell me about] {t}[?|]".replace("is|are|", "is|" if not t.endswith("s") else "are|"), "[Can|Could] you explain {t}[?|]", "How does {t} work[?|]", "Write an essay about {t}[.|]", "I have a question about {t}[.|]", "Help me with {t}[.|]", "[I want|I would like|I have|I am trying] to [know|learn|study|read] [more |something |a lot |]about {t}[.|]", "[What do you think|What do people say|What have you read] about {t}[?|]", "[Can|Could|Would] you [tell me|teach me|write|say] [something |more |]about {t}[?|]", "Why is {t} [important|so hard|interesting][?|]", "[Write|Give me|I need|Prepare] [a report|an article|a lecture|a lesson|an introduction|facts|details|notes] about {t}[.|]", "[Give|Write] [me |]a [short |]summary of {t}[.|]", "[Let us|Let's|Can we] talk about {t}[.|?|]", "[Do you know|Do you understand|Are you good at] [anything about |much about |]{t}[?|]", "{t}: [explain|how does it work|tell me more][.|?|]", "I [study|read about|have an exam on|must learn about] {t}. [Can you help?|Help me.|Explain it.]", "How [did|do] [people|experts] [discover|study|understand] {t}[?|]", "In simple words, what is {t}[?|]", "[Who invented|Who discovered|When did people learn of] {t}[?|]"],
                          ["Give me a long text on {t}[.|]", "I need to understand {t}[.|]", "Summarize {t} for me[.|]"], t=t),
                    f"I am a small model and I do not know enough about {t}. A larger model can help with that.", ["small model", t])


def tell(d):
    """A fact about the user, told in one turn and asked for in a later one."""
    k = d.int(0, 4)
    if k <= 1:
        n = d.pick(NAMES)
        return Exchange(d.ask(["My name is {n}[.|!|]", "[Hi|Hello|Hey], [I am|I'm|my name is] {n}[.|!|]", "I['m| am] {n}[.|!|]", "[You can call|Call] me {n}[.|]", "[Hi|Hello], my name['s| is] {n}. [Nice to meet you|How are you][.|!|?]", "{n} is my name[.|!|]", "The name is {n}[.|!|]", "[Let me|I want to|May I] introduce myself[:|.] [I am|I'm|my name is] {n}[.|!|]", "[My friends|My family|At school they] call me {n}[.|]", "[Good morning|Good evening|Hey there|Hi there|Nice to meet you|Greetings][,|!] [I am|I'm|my name is|call me] {n}[.|!|]", "[You are speaking|You talk|You are talking] [with|to] {n}[.|]", "{n} here[.|!|]", "I am called {n}[.|]", "My [first |]name is {n}[.|]", "[Please |]remember[ that|:] [my name is|I am] {n}[.|]", "I was named {n}[.|]", "My parents named me {n}[.|]"],
                              ["They call me {n}[.|]", "I go by {n}[.|]", "Hello, this is {n}[.|!]"], n=n), f"Nice to meet you, {n}!", [n],
                        follow=[(d.ask(["[What is|What's|Do you know|Do you remember|Can you tell me|Tell me] my name[?|]", "Who am I[?|]", "What am I called[?|]", "What did I say my name was[?|]", "[Do you still know|Can you recall|Do you recall|Could you tell me|Can you say|Do you still remember|Remember] [my name|what my name is|who I am|what I am called][?|]", "[So|Well|Now|And][,|] what[ is|'s|] my name[ again|][?|]", "What was my name[ again|][?|]", "[What do people|What do my friends] call me[?|]", "[And|So|By the way,] who am I[?|]", "My name is[?| what?|]", "Whom are you [talking|speaking] [to|with][?|]", "[I told you my name.|You know my name.] What is it[?|]"], ["Have you forgotten my name[?|]", "Say my name[.|]", "Which name did I give you[?|]"]), f"Your name is {n}.")])
    kind, v, say = d.pick([("favorite color", d.pick(LISTS["colors"]), "{v} is a lovely color."), ("favorite food", d.pick(words("pizza, pasta, soup, rice, cake, cheese, salad, bread, ice cream, curry")), "{v} is a good choice."), ("favorite animal", d.pick(LISTS["animals"]), "I will remember that."), ("hobby", d.pick(LISTS["hobbies"]), "That sounds fun!"),
                           ("favorite season", d.pick(words("spring, summer, autumn, winter")), "{v} is a nice season."), ("home town", d.pick(CAPITALS)[1], "{v} must be an interesting place."), ("age", str(d.int(8, 80)), "Thank you for telling me."), ("favorite number", str(d.int(1, 99)), "I will remember that."), ("favorite sport", d.pick(LISTS["sports"]), "That sounds fun!"), ("job", d.pick(LISTS["jobs"]), "That is a fine job."), ("pet", None, "")])
    if kind == "pet":
        a, n = d.pick(LISTS["pets"]), d.pick(NAMES)
        return Exchange(d.ask(["I have a [pet |]{a} [named|called] {n}[.|]", "My {a} is [called|named] {n}[.|]", "My {a}'s name is {n}[.|]", "[I own|We have|We own|I keep|I got] a {a} [named|called] {n}[.|]", "[The name of my {a} is|I named my {a}|I call my {a}|We call our {a}|My {a} has the name] {n}[.|]", "{n} is my {a}[.|]", "[This is|Meet] my {a} {n}[.|]", "I love my {a} {n}[.|]", "My {a}, {n}, is [cute|funny|sweet|old][.|]", "I [live|play] with a {a} [called|named] {n}[.|]"], ["{n} is the name of my {a}[.|]", "At home I have a {a}, {n}[.|]"], a=a, n=n), f"{n} is a nice name for a {a}.", [n],
                        follow=[(d.ask(["What is my {a}[ called|'s name][?|]", "What is the name of my {a}[?|]", "[Do you remember|Tell me] my {a}'s name[?|]", "[And|So|Now][,|] what[ is|'s] my {a}'s name[?|]", "What do I call my {a}[?|]", "What was my {a}[ called|'s name][ again|][?|]", "[Do you know|Can you recall|Do you still know|Can you tell me] [the name of my {a}|my {a}'s name|what my {a} is called][?|]", "Who is my {a}[?|]", "The name of my {a} is[?|]"], ["How did I name my {a}[?|]"], a=a), f"Your {a} is called {n}.")])
    special = {"home town": (["I live in {v}[.|]", "I['m| am] from {v}[.|]", "My home town is {v}[.|]", "[I come from|I grew up in|I was born in|My home is in|My home is] {v}[.|]"], "Where [do I live|am I from|do I come from|is my home][?|]"), "age": (["I['m| am] {v} years old[.|]", "I['m| am] {v}[.|]", "My age is {v}[.|]", "I [turned|just turned|will soon be] {v}[.|]", "I am {v} years of age[.|]"], "[How old am I|What is my age|How many years old am I][?|]"),
               "job": (["I work as {a}[.|]", "I['m| am] {a}[.|]", "My job is {v}[.|]", "I am working as {a}[.|]", "I earn my money as {a}[.|]", "I have a job as {a}[.|]"], "What [is my job|do I do for work|do I work as|is my work][?|]")}
    tells, q = special.get(kind, (["My {k} is {v}[.|!|]", "{V} is my {k}[.|!|]", "[I should tell you|You should know|By the way], my {k} is {v}[.|]"], "[What is|What's|Do you remember|Tell me] my {k}[?|]"))
    tells = tells + ["[Keep in mind|Note|Let me tell you|I want to tell you|Do not forget] that my {k} is {v}[.|]", "[Here is a fact about me|About me|Listen|A fact]: my {k} is {v}[.|]", "[I think |]my {k} is {v}[.|]", "[As for|Now] my {k}: it is {v}[.|]", "For me, {v} is my {k}[.|]", "Hi, my {k} is {v}[.|]"]
    user = d.ask(tells, ["Just so you know, my {k} is {v}[.|]", "Please remember this: my {k} is {v}[.|]"], k=kind, v=v, V=up(v), a=an(v))
    return Exchange(user, say.format(v=up(v)), [], follow=[(d.ask([q, q, "[Do you know|Can you say|Do you remember|Do you still know] what my {k} is[?|]", "What did I say my {k} was[?|]", "[What|And what] was my {k}[ again|][?|]", "[Can you recall|Do you recall|Do you know|Say|Name|Repeat] my {k}[?|]", "[And|So|Now][,|] what is my {k}[?|]", "My {k} is[?| what?|]", "I told you my {k}. What is it[?|]"], ["Which {k} did I tell you[?|]", "Remind me, what is my {k}[?|]"], k=kind), f"Your {kind} is {v}.")])


TOPICS = [  # topic, category in the report, weight
    (greet, "small talk", 1.2), (how_are_you, "small talk", 0.7), (user_feels, "small talk", 0.7), (thanks, "small talk", 0.8), (goodbye, "small talk", 0.8), (praise, "small talk", 0.6), (joke, "small talk", 0.7),
    (identity, "identity", 3.0), (arithmetic, "arithmetic", 16.0), (word_problem, "word problems", 5.0), (compare, "numbers", 3.5), (parity, "numbers", 1.2), (counting, "numbers", 4.0), (units, "units", 6.0),
    (capital, "geography", 9.0), (animal, "animals", 2.5), (colour, "general facts", 1.2), (word_fact, "words", 12.0), (calendar, "calendar", 3.0), (general, "general facts", 4.0), (why, "why", 1.3), (purpose, "meanings and uses", 4.5),
    (yes_no, "yes or no", 5.0), (make_list, "lists", 3.0), (repeat, "repeat and case", 6.0), (translate, "translation", 4.0), (sentence, "sentences and poems", 1.2), (poem, "sentences and poems", 1.2), (story, "stories", 2.2), (how_to, "how to", 1.3),
    (unknown, "unknown", 2.5), (tell, "memory", 6.0)]
WEIGHTS = [w for _, _, w in TOPICS]
# training asks more often for what is hard; the measurement keeps the weights above
HARDER = {"word problems": 1.7, "words": 1.1, "meanings and uses": 1.6, "lists": 2.5, "unknown": 2.2, "memory": 0.9, "yes or no": 1.5, "numbers": 1.3, "stories": 1.3, "why": 1.2,
          "arithmetic": 0.8, "geography": 0.6, "repeat and case": 0.7, "units": 0.8, "identity": 0.9}
TRAINING_WEIGHTS = [w * HARDER.get(c, 1.0) for _, c, w in TOPICS]
CATEGORIES = list(dict.fromkeys(c for _, c, _ in TOPICS))

SYSTEMS = ["You are a helpful assistant.", "You are Hearth, a small helpful assistant.", "You are a friendly assistant. Answer briefly.", "Answer the user's questions.", "You are a helpful, honest and concise assistant.", "You are a chatbot.", "Be polite and short.",
           "You are an AI assistant that runs on the user's device.", "You are a kind teacher.", "Help the user.", "You are a helpful AI assistant. Keep your answers short and clear.", "You are a useful assistant for children."]


def exchange(d, topic=None):
    f, category, _ = topic or d.rng.choices(TOPICS, WEIGHTS if d.held else TRAINING_WEIGHTS)[0]
    e = f(d)
    e.category = category
    return e


EXACT = {"repeat and case"}  # what the user typed matters letter by letter
POLITE = ["please {u}", "{u} please", "{u} Thanks!", "Hey, {u}", "Hi! {u}", "Okay, {u}", "{u} Thank you.", "Hello! {u}", "Um, {u}", "ok {u}", "Quick question: {u}", "Next question. {u}", "I am curious. {u}", "Let me ask you something. {u}", "Help me. {u}", "Tell me, {u}", "{u} I am not sure.", "{u} I need it for school.", "My teacher asks: {u}", "Now {u}", "And {u}", "Hearth, {u}", "I have a question. {u}",
          "{u} Do you know?", "Listen: {u}", "Good morning. {u}", "Sorry, {u}", "Well, {u}", "Now tell me: {u}", "I have to ask: {u}", "Maybe you know. {u}", "{u} Just tell me."]


def rough(d, e):
    """The user's text as people type it: politeness, missing capitals and marks, a slip of the keys."""
    u = e.user
    if e.category not in ("small talk", "memory") and d.chance(0.15) and "=" not in u:
        u = d.pick(POLITE[:10] if e.category in EXACT else POLITE).format(u=u)
    r = d.rng.random()
    if r < 0.2 and e.category not in EXACT:
        u = u.lower()
    elif r < 0.4:
        u = u.rstrip("?.!") if e.category not in EXACT else u
    elif r < 0.43 and e.category not in EXACT:
        i = d.int(1, max(1, len(u) - 3))
        if u[i:i + 2].isalpha():
            u = u[:i] + u[i + 1] + u[i] + u[i + 2:] if d.chance(0.5) else u[:i] + u[i + 1:]
    elif r < 0.45 and e.category not in EXACT:
        u = u.upper() if len(u) < 40 else u
    return u


def conversation(d, turns, topic=None):
    """Messages of one conversation. Things the user told are asked for again at the end."""
    out, later = [], []
    if d.chance(0.2):
        out.append({"role": "system", "content": d.pick(SYSTEMS)})
    if topic is None and turns < 4 and d.chance(0.07):
        return out + recall(d)
    told = set()
    for i in range(turns):
        e = exchange(d, topic if i == 0 else None)
        if e.category == "memory":
            key = e.follow[0][1].split(" is ")[0]
            if key in told:
                continue
            told.add(key)
        elif "not told me" in e.answer and told:
            continue
        out += [{"role": "user", "content": rough(d, e)}, {"role": "assistant", "content": e.answer}]
        if e.category == "memory":
            if d.chance(0.4):
                later.append(e.follow[0])
            else:
                e.follow = [(lower_some(d, u), a) for u, a in e.follow]
                out += turn(*e.follow[0])
        elif e.follow and d.chance(0.3):
            out += turn(*e.follow[0])
        elif i < turns - 1 and d.chance(0.08):
            t = thanks(d)
            out += turn(t.user, t.answer)
    for f in later:
        out += turn(*f)
    if not any(m["role"] == "user" for m in out):
        return conversation(d, turns, topic)
    return out


def recall(d):
    """One to three things told, up to three other exchanges, and then questions about what was told."""
    tell = next(t for t in TOPICS if t[1] == "memory")
    told, out = {}, []
    for _ in range(d.pick([1, 1, 2, 3])):
        e = exchange(d, tell)
        if told.setdefault(e.follow[0][1].split(" is ")[0], e) is e:
            out += turn(rough(d, e), e.answer)
    for _ in range(d.int(0, 3)):
        e = exchange(d)
        if e.category not in ("memory", "stories", "unknown"):
            out += turn(rough(d, e), e.answer)
    asked = list(told.values())
    d.rng.shuffle(asked)
    for e in asked[:d.int(1, 2)]:
        user, answer = e.follow[0]
        out += turn(lower_some(d, user), answer)
    return out


def lower_some(d, u):
    return u.lower() if d.chance(0.2) else u


def turn(user, answer):
    return [{"role": "user", "content": user}, {"role": "assistant", "content": answer}]


def render(messages, generate=False):
    """ChatML, exactly as the model file's chat template writes it."""
    s = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
    return s + "<|im_start|>assistant\n" if generate else s


def right(e, text):
    """Whether an answer holds everything the exchange asks of it."""
    if len(text.split()) < e.least:
        return False
    for want in e.want:
        if isinstance(want, tuple) and want[0] == "list":
            items = [x.lower() for x in LISTS[want[1]]]
            got = [re.sub(r"^\d+\. ", "", x).strip(" .").lower() for x in re.split(r"\n|, | and ", text)]
            if len(set(got)) != want[2] or any(g not in items for g in got):
                return False
            continue
        options = want if isinstance(want, tuple) else (want,)
        for w in options:
            if w.startswith("^"):
                ok = text.startswith(w[1:])
            else:
                ok = re.search(r"(?<![A-Za-z0-9])" + re.escape(w) + r"(?![A-Za-z0-9])", text, re.I) is not None
            if ok:
                break
        else:
            return False
    return True


def questions(seed, per_category, held):
    """`per_category` distinct single exchanges of each category, on one side of the split."""
    d = Draw(random.Random(seed), held)
    out = []
    for category in CATEGORIES:
        topics = [t for t in TOPICS if t[1] == category]
        seen = set()
        while len(seen) < per_category:
            e = exchange(d, d.rng.choices(topics, [t[2] for t in topics])[0])
            if e.user not in seen:
                seen.add(e.user)
                out.append(e)
    return out


if __name__ == "__main__":
    d = Draw(random.Random(1))
    for _ in range(12):
        print(render(conversation(d, d.pick([1, 1, 2, 3]))))
