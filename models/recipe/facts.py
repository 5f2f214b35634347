"""The small world the model is taught: every fact it may state is here."""


def pairs(text):
    return [tuple(part.strip().split("=")) for part in text.replace("\n", " ").split(",") if part.strip()]


def words(text):
    return [w.strip() for w in text.replace("\n", " ").split(",") if w.strip()]


# country=capital, by continent
COUNTRIES = {
    "Europe": pairs("""France=Paris, Germany=Berlin, Italy=Rome, Spain=Madrid, Portugal=Lisbon, Greece=Athens,
        Austria=Vienna, Belgium=Brussels, the Netherlands=Amsterdam, Denmark=Copenhagen, Sweden=Stockholm, Norway=Oslo,
        Finland=Helsinki, Iceland=Reykjavik, Ireland=Dublin, the United Kingdom=London, Switzerland=Bern, Poland=Warsaw,
        Hungary=Budapest, Romania=Bucharest, Bulgaria=Sofia, Serbia=Belgrade, Croatia=Zagreb, Slovenia=Ljubljana,
        Slovakia=Bratislava, Ukraine=Kyiv, Russia=Moscow, Estonia=Tallinn, Latvia=Riga, Lithuania=Vilnius,
        Albania=Tirana, Malta=Valletta, Luxembourg=Luxembourg City, Scotland=Edinburgh, Wales=Cardiff"""),
    "Asia": pairs("""Japan=Tokyo, China=Beijing, India=New Delhi, South Korea=Seoul, North Korea=Pyongyang,
        Thailand=Bangkok, Vietnam=Hanoi, Indonesia=Jakarta, Malaysia=Kuala Lumpur, the Philippines=Manila,
        Pakistan=Islamabad, Bangladesh=Dhaka, Nepal=Kathmandu, Iran=Tehran, Iraq=Baghdad,
        Turkey=Ankara, Saudi Arabia=Riyadh, Jordan=Amman, Lebanon=Beirut, Syria=Damascus, Qatar=Doha,
        Mongolia=Ulaanbaatar, Cambodia=Phnom Penh, Laos=Vientiane, Afghanistan=Kabul, Singapore=Singapore, Kuwait=Kuwait City"""),
    "Africa": pairs("""Egypt=Cairo, Kenya=Nairobi, Nigeria=Abuja, Ghana=Accra, Ethiopia=Addis Ababa, Morocco=Rabat,
        Algeria=Algiers, Tunisia=Tunis, Libya=Tripoli, Sudan=Khartoum, Senegal=Dakar, Mali=Bamako, Uganda=Kampala,
        Tanzania=Dodoma, Zambia=Lusaka, Zimbabwe=Harare, Angola=Luanda, Mozambique=Maputo, Madagascar=Antananarivo,
        Namibia=Windhoek, Botswana=Gaborone, Rwanda=Kigali, Somalia=Mogadishu, Cameroon=Yaounde"""),
    "North America": pairs("""the United States=Washington, Canada=Ottawa, Mexico=Mexico City, Cuba=Havana,
        Jamaica=Kingston, Guatemala=Guatemala City, Honduras=Tegucigalpa, Nicaragua=Managua, Costa Rica=San Jose,
        Panama=Panama City, Haiti=Port-au-Prince"""),
    "South America": pairs("""Brazil=Brasilia, Argentina=Buenos Aires, Chile=Santiago, Peru=Lima, Colombia=Bogota,
        Venezuela=Caracas, Ecuador=Quito, Uruguay=Montevideo, Paraguay=Asuncion, Bolivia=Sucre"""),
    "Oceania": pairs("Australia=Canberra, New Zealand=Wellington, Fiji=Suva"),
}
CAPITALS = [(c, cap, cont) for cont, rows in COUNTRIES.items() for c, cap in rows]

SOUNDS = pairs("""dog=woof, cat=meow, cow=moo, sheep=baa, goat=maa, duck=quack, rooster=cock-a-doodle-doo, pig=oink,
    horse=neigh, lion=roar, tiger=roar, frog=ribbit, bee=buzz, snake=hiss, mouse=squeak, owl=hoot, wolf=howl, crow=caw,
    donkey=hee-haw, turkey=gobble, bird=tweet, hen=cluck""")
BABIES = pairs("""dog=puppy, cat=kitten, cow=calf, sheep=lamb, horse=foal, pig=piglet, goat=kid, duck=duckling,
    hen=chick, lion=cub, bear=cub, tiger=cub, wolf=pup, kangaroo=joey, deer=fawn, frog=tadpole, swan=cygnet,
    goose=gosling, owl=owlet, elephant=calf, whale=calf, rabbit=kit, fox=cub, butterfly=caterpillar""")
HOMES = pairs("""bird=nest, bee=hive, dog=kennel, horse=stable, lion=den, rabbit=burrow, spider=web, cow=barn, pig=sty,
    bear=cave, fish=water, camel=desert, penguin=ice and cold sea, monkey=trees, ant=anthill, beaver=lodge, hen=coop,
    owl=tree, whale=ocean, frog=pond, polar bear=Arctic, kangaroo=Australian grassland, fox=den""")
LEGS = pairs("""dog=4, cat=4, horse=4, cow=4, elephant=4, lion=4, bird=2, chicken=2, human=2, penguin=2, ant=6, bee=6,
    butterfly=6, beetle=6, spider=8, snake=0, fish=0, frog=4, mouse=4, crab=10, sheep=4, fly=6, worm=0""")
COLOURS = pairs("""banana=yellow, the sky=blue, grass=green, snow=white, a tomato=red, a strawberry=red, an orange=orange,
    a carrot=orange, coal=black, chocolate=brown, a lemon=yellow, a lime=green, an eggplant=purple, a flamingo=pink,
    the sun=yellow, milk=white, blood=red, a pumpkin=orange, a frog=green, a crow=black, a polar bear=white,
    a cucumber=green, a cherry=red, the sea=blue, a fire engine=red, salt=white, spinach=green, an elephant=gray,
    a lavender flower=purple, a raven=black, a sunflower=yellow, broccoli=green""".replace("banana", "a banana"))
OPPOSITES = pairs("""hot=cold, big=small, fast=slow, up=down, happy=sad, light=dark, high=low, old=new, young=old, wet=dry,
    open=closed, full=empty, hard=soft, strong=weak, rich=poor, early=late, long=short, near=far, loud=quiet, clean=dirty,
    good=bad, right=wrong, left=right, in=out, on=off, above=below, first=last, thick=thin, wide=narrow, heavy=light,
    easy=difficult, day=night, black=white, true=false, begin=end, push=pull, win=lose, buy=sell, love=hate, start=stop,
    laugh=cry, sweet=sour, deep=shallow, brave=afraid, smooth=rough, tall=short, yes=no, always=never, before=after,
    give=take, inside=outside, north=south, east=west, summer=winter, friend=enemy, question=answer, alive=dead,
    safe=dangerous, polite=rude, success=failure, many=few, more=less""")
PLURALS = pairs("""child=children, mouse=mice, foot=feet, tooth=teeth, goose=geese, man=men, woman=women, person=people,
    ox=oxen, sheep=sheep, fish=fish, deer=deer, leaf=leaves, knife=knives, wolf=wolves, wife=wives, life=lives,
    half=halves, shelf=shelves, cat=cats, dog=dogs, house=houses, box=boxes, bus=buses, fox=foxes, glass=glasses,
    dish=dishes, watch=watches, church=churches, baby=babies, city=cities, lady=ladies, party=parties, story=stories,
    berry=berries, potato=potatoes, tomato=tomatoes, hero=heroes, book=books, car=cars, key=keys, boy=boys, toy=toys,
    day=days, apple=apples, tree=trees, loaf=loaves, thief=thieves, cactus=cacti, bird=birds, brush=brushes, cow=cows""")
PAST = pairs("""go=went, eat=ate, run=ran, see=saw, come=came, take=took, make=made, give=gave, write=wrote, read=read,
    drink=drank, swim=swam, sing=sang, buy=bought, bring=brought, think=thought, teach=taught, catch=caught, fly=flew,
    know=knew, grow=grew, draw=drew, speak=spoke, break=broke, sleep=slept, keep=kept, feel=felt, leave=left, meet=met,
    find=found, tell=told, say=said, sell=sold, sit=sat, stand=stood, win=won, lose=lost, build=built, send=sent,
    begin=began, drive=drove, ride=rode, fall=fell, forget=forgot, get=got, have=had, do=did, be=was, hear=heard,
    hold=held, pay=paid, walk=walked, talk=talked, play=played, jump=jumped, cook=cooked, help=helped, wash=washed,
    study=studied, carry=carried, stop=stopped, dance=danced, love=loved, open=opened, work=worked, cut=cut, put=put""")
RHYMES = [words(line) for line in """cat, hat, bat, mat, rat
    dog, fog, log, frog
    tree, bee, sea, key, knee
    star, car, far, jar
    moon, spoon, soon, noon
    light, night, bright, right, kite
    day, play, way, say, May
    house, mouse
    ball, tall, wall, fall, small
    cake, lake, snake, make, bake
    ring, king, sing, wing, spring
    boat, coat, goat, float
    rain, train, brain, plane
    book, cook, look, hook
    sun, fun, run, bun
    fish, dish, wish
    bed, red, head, bread
    sky, fly, high, pie
    blue, shoe, two, new
    box, fox, socks, rocks
    pen, hen, ten, men
    snow, grow, slow, low
    bear, chair, hair, pear
    gold, cold, old, told
    time, rhyme, lime, climb""".split("\n")]
SYNONYMS = pairs("""big=large, small=little, happy=glad, sad=unhappy, fast=quick, begin=start, smart=clever, angry=mad,
    pretty=beautiful, tired=sleepy, scared=afraid, quiet=silent, rich=wealthy, hard=difficult, easy=simple, end=finish,
    funny=amusing, kind=nice, strange=odd, huge=enormous, tiny=very small, important=significant, correct=right,
    gift=present, stone=rock, road=street, shop=store, house=home, friend=pal, error=mistake, buy=purchase, help=assist,
    choose=pick, shout=yell, jump=leap, look=watch, cold=chilly, brave=courageous, old=ancient, calm=peaceful""")
PURPOSES = pairs("""a hammer=hit nails, a spoon=eat soup and stir food, a knife=cut things, an umbrella=stay dry in the rain,
    a pen=write, a pencil=write and draw, a key=open a lock, a clock=tell the time, a lamp=give light, a bed=sleep,
    a chair=sit, an oven=bake and roast food, a fridge=keep food cold, a broom=sweep the floor, a toothbrush=clean your teeth,
    a telescope=look at the stars, a microscope=see very small things, a thermometer=measure temperature,
    a ruler=measure length, a scale=measure weight, a map=find your way, a compass=find north, scissors=cut paper and cloth,
    soap=wash things, a towel=dry yourself, a phone=call people, a camera=take pictures, a needle=sew cloth,
    a ladder=climb up high, a shovel=dig holes, a kettle=boil water, a pillow=rest your head, a comb=tidy your hair,
    a mirror=see yourself, a backpack=carry things on your back, a candle=give light, a calendar=keep track of the days,
    an eraser=remove pencil marks, glasses=see better, a helmet=protect your head, a boat=travel on water,
    a dictionary=look up words, a saw=cut wood, a bucket=carry water, a wallet=keep money and cards""")
JOBS = pairs("""a doctor=helps sick people get well, a teacher=helps people learn, a baker=makes bread and cakes,
    a farmer=grows food and raises animals, a pilot=flies planes, a firefighter=puts out fires, a chef=cooks food in a restaurant,
    a carpenter=makes things from wood, a plumber=fixes pipes, a nurse=cares for patients, a painter=paints pictures or walls,
    a tailor=makes and mends clothes, a librarian=looks after books in a library, a vet=takes care of sick animals,
    a dentist=takes care of teeth, an astronaut=travels into space, a gardener=takes care of plants, a writer=writes books and stories,
    a musician=plays music, a mechanic=repairs cars and machines, a police officer=keeps people safe, a judge=decides cases in court,
    a sailor=works on a ship, a scientist=studies how the world works, a programmer=writes computer programs,
    a barber=cuts hair, a photographer=takes pictures, an architect=designs buildings, a butcher=sells meat, a florist=sells flowers""")
# word=definition, completing "A/An word is ..."
DEFINITIONS = pairs("""a dog=an animal that people often keep as a pet, a cat=a small furry animal that people keep as a pet,
    a tree=a tall plant with a trunk and branches, a river=a long stream of water that flows to the sea,
    a mountain=a very high piece of land, an island=a piece of land with water all around it,
    a desert=a very dry place with little rain, a volcano=a mountain that can throw out hot melted rock,
    a planet=a large round object that travels around a star, a star=a huge ball of hot glowing gas,
    the moon=the round object that travels around the Earth, the sun=the star at the center of our solar system,
    a computer=a machine that works with information, a book=a set of pages with words to read,
    a library=a place where you can borrow books, a school=a place where people go to learn,
    a hospital=a place where sick people are cared for, a bicycle=a vehicle with two wheels that you pedal,
    a bridge=a structure that lets you cross over water or a road, a robot=a machine that can do tasks by itself,
    a language model=a program that learns from text and predicts the next words, a piano=a musical instrument with black and white keys,
    a guitar=a musical instrument with strings, a fruit=the part of a plant that holds seeds and is often sweet,
    a vegetable=a plant or part of a plant that we eat, a bird=an animal with feathers and wings,
    a fish=an animal that lives in water and breathes with gills, an insect=a small animal with six legs,
    a mammal=a warm-blooded animal that feeds its babies milk, a reptile=a cold-blooded animal with scales,
    gravity=the force that pulls things toward the ground, energy=the ability to do work,
    a magnet=an object that pulls iron toward it, ice=water that is frozen, steam=water that has become a gas,
    rain=water that falls from clouds, a cloud=a mass of tiny water drops in the sky, wind=air that is moving,
    a triangle=a shape with three sides, a square=a shape with four equal sides, a circle=a perfectly round shape,
    a friend=a person you like and trust, a noun=a word that names a person or place or thing,
    a verb=a word that shows an action, an adjective=a word that describes a noun, oxygen=a gas in the air that we need to breathe,
    an ocean=a very large area of salt water, a forest=a large area with many trees, a city=a large place where many people live,
    a museum=a place where interesting old things are shown, a token=a small piece of text that a language model reads""")
WHYS = [tuple(line.strip().split("=")) for line in """is the sky blue=Sunlight is made of many colors, and the air scatters blue light the most.
    do we sleep=Sleep lets the body rest and helps the brain store memories.
    do leaves change color in autumn=The green color in the leaves fades, and the yellow and red colors can be seen.
    is the sea salty=Rivers carry salt from rocks into the sea, and the salt stays there.
    do birds fly south in winter=They go to warmer places where they can find food.
    does it rain=Water in clouds gathers into drops that become heavy and fall.
    do we have day and night=The Earth turns, so the sun lights one side at a time.
    do we have seasons=The Earth is tilted as it goes around the sun.
    does ice float=Ice is less dense than water, so it floats.
    do cats purr=Cats often purr when they are calm and happy.
    do dogs bark=Dogs bark to warn, to greet and to get attention.
    do we eat food=Food gives the body energy and helps it grow.
    do we drink water=The body needs water to stay healthy and cool.
    do plants need sunlight=Plants use sunlight to make their own food.
    do bees make honey=Bees store honey as food for the winter.
    do we brush our teeth=Brushing keeps our teeth clean and stops holes in them.
    is exercise good for you=Exercise makes the heart and muscles strong.
    do we wear coats in winter=Coats keep us warm when it is cold.
    do we have two eyes=Two eyes help us judge how far away things are.
    does the moon shine=The moon reflects light from the sun.
    is reading important=Reading helps you learn new things and new words.
    do people laugh=People laugh when something is funny or when they feel happy.
    do we wash our hands=Washing removes germs that can make us sick.
    is grass green=Grass has a green substance called chlorophyll.
    do camels have humps=The humps store fat that camels use for energy.
    do fish have gills=Gills let fish take oxygen from the water.
    do we cry=People cry when they feel strong emotions such as sadness or joy.
    do volcanoes erupt=Hot melted rock rises and is pushed out by gas.
    do stars twinkle=Moving air bends the light of the stars.
    is the sun hot=The sun makes heat by joining atoms of hydrogen in its core.""".split("\n")]
# question (without its mark)=answer=key word the answer must have
GENERAL = [tuple(line.strip().split("=")) for line in """which planet is closest to the sun=Mercury is the planet closest to the sun.=Mercury
    which planet is the largest=Jupiter is the largest planet in our solar system.=Jupiter
    which planet is known as the red planet=Mars is known as the red planet.=Mars
    which planet has big rings=Saturn is the planet with big rings.=Saturn
    how many planets are there in our solar system=There are eight planets in our solar system.=eight
    what planet do we live on=We live on the planet Earth.=Earth
    which planet is farthest from the sun=Neptune is the planet farthest from the sun.=Neptune
    which is the smallest planet=Mercury is the smallest planet.=Mercury
    what is the largest ocean=The Pacific Ocean is the largest ocean.=Pacific
    what is the highest mountain in the world=Mount Everest is the highest mountain in the world.=Everest
    what is the longest river in the world=The Nile is often called the longest river in the world.=Nile
    what is the largest animal=The blue whale is the largest animal.=whale
    what is the fastest land animal=The cheetah is the fastest land animal.=cheetah
    what is the tallest animal=The giraffe is the tallest animal.=giraffe
    what is the largest country in the world=Russia is the largest country in the world.=Russia
    what is the largest desert of sand=The Sahara is the largest hot desert.=Sahara
    how many continents are there=There are seven continents.=seven
    how many oceans are there=There are five oceans.=five
    how many days are in a leap year=A leap year has 366 days.=366
    how many letters are in the alphabet=The English alphabet has 26 letters.=26
    how many vowels are there=There are five vowels: a, e, i, o and u.=five
    what do bees make=Bees make honey.=honey
    what do cows give us=Cows give us milk.=milk
    what do caterpillars turn into=Caterpillars turn into butterflies.=butterflies
    what do pandas eat=Pandas eat bamboo.=bamboo
    what do rabbits like to eat=Rabbits like to eat grass and carrots.=carrots
    what is water made of=Water is made of hydrogen and oxygen.=oxygen
    what gas do we breathe in to live=We breathe in oxygen.=oxygen
    at what temperature does water boil=Water boils at 100 degrees Celsius.=100
    at what temperature does water freeze=Water freezes at 0 degrees Celsius.=0
    what do we call frozen water=Frozen water is called ice.=ice
    what is the opposite of the north pole=The south pole is the opposite of the north pole.=south
    how many sides does a triangle have=A triangle has three sides.=three
    how many sides does a square have=A square has four sides.=four
    how many sides does a hexagon have=A hexagon has six sides.=six
    how many fingers are on one hand=There are five fingers on one hand.=five
    how many colors are in a rainbow=A rainbow has seven colors.=seven
    what colors are in a rainbow=A rainbow is red, orange, yellow, green, blue, indigo and violet.=violet
    what color do you get if you mix blue and yellow=Blue and yellow make green.=green
    what color do you get if you mix red and yellow=Red and yellow make orange.=orange
    what color do you get if you mix red and blue=Red and blue make purple.=purple
    what color do you get if you mix red and white=Red and white make pink.=pink
    what color do you get if you mix black and white=Black and white make gray.=gray
    which season comes after winter=Spring comes after winter.=Spring
    which season comes after spring=Summer comes after spring.=Summer
    which season comes after summer=Autumn comes after summer.=Autumn
    which season comes after autumn=Winter comes after autumn.=Winter
    which season is the coldest=Winter is the coldest season.=Winter
    which season is the hottest=Summer is the hottest season.=Summer
    where does the sun rise=The sun rises in the east.=east
    where does the sun set=The sun sets in the west.=west
    what is the main language in Brazil=The main language in Brazil is Portuguese.=Portuguese
    what language do people speak in Mexico=People in Mexico speak Spanish.=Spanish
    what language do people speak in France=People in France speak French.=French
    what language do people speak in Germany=People in Germany speak German.=German
    what language do people speak in Japan=People in Japan speak Japanese.=Japanese
    what language do people speak in Italy=People in Italy speak Italian.=Italian
    who wrote Romeo and Juliet=William Shakespeare wrote Romeo and Juliet.=Shakespeare
    who painted the Mona Lisa=Leonardo da Vinci painted the Mona Lisa.=Leonardo
    who was the first person to walk on the moon=Neil Armstrong was the first person to walk on the moon.=Armstrong
    which animal is called the king of the jungle=The lion is called the king of the jungle.=lion
    which bird cannot fly but swims well=The penguin cannot fly but swims very well.=penguin
    what do plants need to grow=Plants need water, light, air and soil to grow.=water
    what is bread made from=Bread is made from flour, water, yeast and salt.=flour
    what is cheese made from=Cheese is made from milk.=milk
    what is paper made from=Paper is made from wood.=wood
    what is glass made from=Glass is made from sand.=sand
    what part of the body do we use to see=We see with our eyes.=eyes
    what part of the body do we use to hear=We hear with our ears.=ears
    what part of the body do we use to smell=We smell with our nose.=nose
    what part of the body pumps blood=The heart pumps blood.=heart
    what part of the body do we use to think=We think with our brain.=brain
    how many teeth does an adult have=An adult usually has 32 teeth.=32
    how many bones does an adult have=An adult has 206 bones.=206
    what is the currency of Japan=The currency of Japan is the yen.=yen
    what is the currency of the United States=The currency of the United States is the dollar.=dollar
    what is the currency of the United Kingdom=The currency of the United Kingdom is the pound.=pound
    what is the currency of Germany=The currency of Germany is the euro.=euro
    in which city is the Eiffel Tower=The Eiffel Tower is in Paris.=Paris
    in which city is Big Ben=Big Ben is in London.=London
    in which city is the Colosseum=The Colosseum is in Rome.=Rome
    in which country are the great pyramids=The great pyramids are in Egypt.=Egypt
    in which country is the Great Wall=The Great Wall is in China.=China
    in which city is the Statue of Liberty=The Statue of Liberty is in New York.=New York""".split("\n")]

LISTS = {
    "fruits": words("apple, banana, orange, pear, grape, cherry, mango, peach, plum, lemon, kiwi, pineapple"),
    "vegetables": words("carrot, potato, onion, tomato, cabbage, spinach, broccoli, pea, bean, cucumber, pepper, garlic"),
    "animals": words("dog, cat, horse, cow, lion, tiger, elephant, rabbit, bear, fox, wolf, monkey"),
    "farm animals": words("cow, pig, sheep, goat, horse, hen, duck, donkey"),
    "birds": words("sparrow, eagle, owl, robin, parrot, penguin, crow, swan, duck, pigeon"),
    "colors": words("red, blue, green, yellow, orange, purple, pink, black, white, brown"),
    "countries": words("France, Japan, Brazil, Canada, Egypt, India, Italy, Kenya, Mexico, Spain"),
    "cities": words("Paris, London, Tokyo, Rome, Berlin, Madrid, Cairo, Lima, Oslo, Vienna"),
    "sports": words("football, tennis, swimming, basketball, running, cycling, golf, hockey, rugby, skiing"),
    "planets": words("Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus, Neptune"),
    "instruments": words("piano, guitar, violin, drum, flute, trumpet, cello, harp, clarinet"),
    "drinks": words("water, tea, coffee, milk, juice, lemonade, cocoa"),
    "tools": words("hammer, saw, screwdriver, drill, wrench, shovel, pliers"),
    "flowers": words("rose, tulip, daisy, lily, sunflower, violet, orchid"),
    "trees": words("oak, pine, maple, birch, willow, palm, apple tree"),
    "insects": words("ant, bee, butterfly, fly, beetle, ladybug, grasshopper, moth"),
    "shapes": words("circle, square, triangle, rectangle, oval, star, hexagon"),
    "vehicles": words("car, bus, train, bicycle, boat, plane, truck, tram"),
    "clothes": words("shirt, coat, hat, sock, shoe, scarf, dress, jacket"),
    "jobs": words("teacher, doctor, baker, farmer, pilot, chef, nurse, painter"),
    "languages": words("English, French, Spanish, German, Italian, Japanese, Chinese, Arabic"),
    "hobbies": words("reading, drawing, cooking, gardening, singing, hiking, chess, dancing"),
    "breakfast foods": words("toast, eggs, porridge, cereal, pancakes, yogurt, fruit"),
    "things in a kitchen": words("spoon, fork, knife, plate, pan, oven, fridge, kettle"),
    "things in a classroom": words("desk, chair, book, pencil, board, ruler, map"),
    "sea animals": words("whale, shark, dolphin, octopus, crab, seal, jellyfish"),
    "parts of the body": words("head, arm, leg, hand, foot, nose, ear, knee"),
    "pets": words("dog, cat, rabbit, hamster, goldfish, parrot, turtle"),
}

TRANSLATE = {
    "French": pairs("""hello=bonjour, goodbye=au revoir, thank you=merci, yes=oui, no=non, please=s'il vous plait, water=eau,
        bread=pain, cat=chat, dog=chien, house=maison, book=livre, friend=ami, red=rouge, blue=bleu, one=un, two=deux,
        three=trois, sun=soleil, moon=lune, milk=lait, good morning=bonjour, good night=bonne nuit, love=amour"""),
    "Spanish": pairs("""hello=hola, goodbye=adios, thank you=gracias, yes=si, no=no, please=por favor, water=agua,
        bread=pan, cat=gato, dog=perro, house=casa, book=libro, friend=amigo, red=rojo, blue=azul, one=uno, two=dos,
        three=tres, sun=sol, moon=luna, milk=leche, good morning=buenos dias, good night=buenas noches, love=amor"""),
    "German": pairs("""hello=hallo, goodbye=auf Wiedersehen, thank you=danke, yes=ja, no=nein, please=bitte, water=Wasser,
        bread=Brot, cat=Katze, dog=Hund, house=Haus, book=Buch, friend=Freund, red=rot, blue=blau, one=eins, two=zwei,
        three=drei, sun=Sonne, moon=Mond, milk=Milch, good morning=guten Morgen, good night=gute Nacht, love=Liebe"""),
    "Italian": pairs("""hello=ciao, goodbye=arrivederci, thank you=grazie, yes=si, no=no, please=per favore, water=acqua,
        bread=pane, cat=gatto, dog=cane, house=casa, book=libro, friend=amico, red=rosso, blue=blu, one=uno, two=due,
        three=tre, sun=sole, moon=luna, milk=latte, good morning=buongiorno, good night=buona notte, love=amore"""),
}

SPELL = words("""cat, dog, house, apple, water, friend, school, happy, green, table, bread, light, music, river, robot, garden,
    winter, summer, orange, yellow, animal, hello, world, book, tree, star, moon, fish, bird, milk, rain, horse, because, Monday""")


# task=steps
HOWTO = [(t.strip(), [s.strip() for s in steps.split(";")]) for t, steps in
         (line.split("=") for line in """make tea=Boil some water; Put a tea bag in a cup; Pour the hot water over it; Wait three minutes; Take out the tea bag and enjoy
    boil an egg=Put the egg in a pot of water; Bring the water to a boil; Cook the egg for eight minutes; Cool it in cold water; Peel it and eat
    make a sandwich=Take two slices of bread; Spread some butter; Add cheese, ham or salad; Put the slices together and enjoy
    make coffee=Boil some water; Put ground coffee in a filter; Pour the hot water over it slowly; Add milk or sugar if you like
    cook rice=Rinse one cup of rice; Add two cups of water; Bring it to a boil; Cover and cook on low heat for fifteen minutes; Let it rest
    cook pasta=Boil a large pot of water; Add salt; Cook the pasta for ten minutes; Drain it and add a sauce
    make pancakes=Mix flour, eggs and milk; Heat a pan with some butter; Pour in a little batter; Cook each side until golden
    brush your teeth=Put toothpaste on the brush; Brush every tooth for two minutes; Spit out the foam; Rinse your mouth
    wash your hands=Wet your hands; Use soap; Rub for twenty seconds; Rinse and dry them
    plant a seed=Fill a pot with soil; Make a small hole; Put in the seed and cover it; Water it and keep it in the light
    sleep better=Go to bed at the same time every day; Keep the room dark and quiet; Avoid screens before bed; Avoid coffee in the evening
    learn a new language=Practice a little every day; Learn common words first; Listen to native speakers; Speak as often as you can
    study for a test=Make a plan; Study in short blocks; Test yourself on what you read; Sleep well the night before
    save money=Write down what you spend; Make a simple budget; Put a little aside each month; Avoid buying what you do not need
    make new friends=Smile and say hello; Ask questions and listen; Join a club or a class; Be kind and patient
    clean a room=Put things back in their place; Dust the shelves; Sweep or vacuum the floor; Open a window for fresh air
    write a letter=Start with a greeting; Say why you are writing; Tell your news; End with kind words and your name
    stay healthy=Eat plenty of vegetables; Move your body every day; Drink water; Sleep enough
    relax=Sit somewhere quiet; Breathe slowly and deeply; Listen to calm music; Go for a short walk
    tie your shoes=Cross the laces and pull tight; Make a loop; Wrap the other lace around it; Pull it through and tighten
    make lemonade=Squeeze three lemons; Add water and sugar; Stir well; Serve with ice
    bake bread=Mix flour, water, yeast and salt; Knead the dough; Let it rise for an hour; Bake it until it is brown
    make a salad=Wash some lettuce; Cut tomatoes and cucumber; Put it all in a bowl; Add oil, lemon and salt
    take care of a dog=Feed it every day; Give it fresh water; Take it for walks; Play with it and visit the vet
    take care of a plant=Put it near a window; Water it when the soil is dry; Remove dry leaves; Give it a bigger pot when it grows
    be more productive=Choose the most important task; Put away your phone; Work in short blocks; Take small breaks
    stay calm before a speech=Practice it aloud; Breathe slowly; Speak to one friendly face; Remember that pauses are fine
    wrap a gift=Cut enough paper; Place the gift in the middle; Fold the paper around it; Tape the edges and add a ribbon
    wash a car=Rinse off the dirt; Wash it with soapy water; Rinse it again; Dry it with a soft cloth
    ride a bicycle=Put on a helmet; Sit and hold the handlebars; Push off and start to pedal; Look ahead and keep moving
    fall asleep=Lie down in a dark room; Close your eyes; Breathe slowly; Let your thoughts go
    draw a cat=Draw a circle for the head; Add two pointed ears; Draw eyes, a nose and whiskers; Add a body and a long tail""".split("\n"))]

JOKES = [tuple(line.strip().split("=")) for line in """Why did the chicken cross the road?=To get to the other side!
    What do you call a bear with no teeth?=A gummy bear!
    Why do bees have sticky hair?=Because they use honeycombs!
    What do you call a sleeping dinosaur?=A dino-snore!
    Why was the math book sad?=It had too many problems!
    What has hands but cannot clap?=A clock!
    What do you get when you cross a snowman and a dog?=Frostbite!
    Why did the cookie go to the doctor?=It felt crumbly!
    What did one wall say to the other?=I will meet you at the corner!
    Why can a bicycle not stand up by itself?=It is two tired!
    What is a cat's favorite color?=Purrple!
    How does the ocean say hello?=It waves!""".split("\n")]

NAMES = words("""Anna, Ben, Clara, David, Emma, Felix, Grace, Henry, Ivy, Jack, Kate, Leo, Mia, Noah, Olivia, Paul, Rosa, Sam,
    Tom, Uma, Vera, Will, Zoe, Alice, Bob, Carol, Daniel, Ella, Frank, Gina, Hugo, Iris, James, Laura, Max, Nina, Oscar, Peter,
    Ruth, Sara, Tina, Victor, Wendy, Adam, Bella, Carlos, Diana, Eric, Fatima, George, Hana, Ian, Julia, Kenji, Lucy, Maria,
    Nora, Omar, Priya, Ravi, Sofia, Theo, Yuki, Amir, Chloe, Dan, Eva, Finn, Hannah, Isaac, Jane, Karl, Lena, Marco, Nadia""")

UNKNOWN_TOPICS = words("""quantum physics, the stock market, string theory, Roman law, tax rules, the French Revolution, ancient Rome,
    organic chemistry, black holes, calculus, Shakespeare's sonnets, the Cold War, machine translation, blockchain, philosophy,
    the theory of relativity, jazz history, genetics, the industrial revolution, opera, economics, microbiology, feudalism,
    linear algebra, photosynthesis, medieval poetry, the Byzantine Empire, satellite orbits, nuclear energy, Greek mythology,
    the human genome, inflation, cryptography, plate tectonics, game theory, baroque music, political science, sociology,
    the Vikings, semiconductors, the Renaissance, data structures, compilers, operating systems, protein folding, archaeology""")
