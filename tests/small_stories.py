"""Small Z-machine games, compiled with the Inform compilers that come with TextWorld."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

CELLAR = """\
"The Cellar" by "A Tester".
Use scoring. The maximum score is 5.
The Cellar is a room. "Barrels stand along the wall. A hole gapes in the floor."
The brass lamp is a device in the Cellar. The description is "A lamp of brass."
The shelf is a supporter in the Cellar. The iron key is on the shelf.
The oak chest is an openable closed container in the Cellar. It is lockable and locked.
The iron key unlocks the oak chest. The gold coin is in the oak chest.
The hole is scenery in the Cellar. The description is "It is deep."
Instead of entering the hole: end the story saying "You have died".
The Garden is north of the Cellar. "Roses and thorns."
The wooden cart is a vehicle in the Garden.
The troll is a man in the Garden. The troll carries the club.
The white pawn is in the Garden. The black pawn is in the Garden.
After taking the gold coin for the first time: increase the score by 2; say "Shiny!".
After dropping the gold coin in the Garden: increase the score by 3;
	end the story finally saying "You have won".
Instead of waving the lamp: say "It shows [a random number from 1 to 1000]."
"""
"""In Inform 7: a chest with its key, a way to die, five points, and chance."""

CELLAR_WALKTHROUGH = (
    "take iron key",
    "unlock oak chest with iron key",
    "open oak chest",
    "take gold coin",
    "go north",
    "drop gold coin",
)

HALL = """\
Global here; Global score; Global turns;
Array buffer -> 64; Array parse -> 64;
Object hall "Dusty Hall";
Object cave "Cave";
Object everywhere "everywhere"; Object decoy "you" everywhere;
Object hero "{hero}" hall;
Object lamp "brass lamp" hall;
[ Word n; if (n > parse->1) return 0; return (parse + 4*n - 2)-->0; ];
[ Look o; print "^", (object) here, "^You are here.^";
  objectloop (o in here) if (o ~= hero) print "There is a ", (object) o, " here.^"; ];
[ Go room; if (here == room) {{ print "You can't go that way.^"; return; }}
  here = room; move hero to room; Look(); ];
[ Named; return Word(2) == 'lamp' or 'brass' && lamp in here or hero; ];
[ Main; here = hall; Look();
  while (true) {{
    print "^>"; buffer->0 = 60; parse->0 = 10; buffer->1 = 0;
    {read}
    turns++;
    if (parse->1 == 0) {{ print "I beg your pardon?^"; continue; }}
    switch (Word(1)) {{
      'look': Look();
      'north': Go(cave);
      'south': Go(hall);
      'wait': print "Time passes.^";
      'inventory': print "You are carrying "; if (lamp in hero) print "a brass lamp.^";
        else print "nothing.^";
      'score': print "Your score is ", score, " (total of 2 points), in ", turns, " moves.^";
      'take': if (Named()) {{ if (lamp notin hero) score++; move lamp to hero; print "Taken.^"; }}
        else print "You can't see any such thing.^";
      'drop': if (Named()) {{ move lamp to here; print "Dropped.^";
          if (here == cave) {{ score++; print "^    *** You have won ***^"; @quit; }} }}
        else print "You can't see any such thing.^";
      'examine': if (Named()) print "It is made of brass.^";
        else print "You can't see any such thing.^";
      'jump': print "^    *** You have died ***^"; @quit;
      default: print "I don't know the word.^";
    }}
  }}
];
"""
"""In Inform 6 without its library, for any version: two rooms, a lamp, two points."""

HALL_WALKTHROUGH = ("take brass lamp", "north", "drop brass lamp")


def compile_cellar(story: Path) -> Path:
    """Inform 7's game of `CELLAR`, as a `.z8`."""
    from textworld.generator.inform7 import compile_inform7_game

    compile_inform7_game(CELLAR, str(story))
    story.with_suffix(".ni").unlink()
    return story


def compile_hall(story: Path, version: int, hero: str = "yourself") -> Path:
    """The game of `HALL` for a version of the Z-machine; the player's object is named `hero`."""
    source = story.with_suffix(".inf")
    read = "@sread buffer parse;" if version <= 4 else "@aread buffer parse -> here_key;"
    text = HALL.format(hero=hero, read=read)
    if version > 4:
        text = text.replace("Global turns;", "Global turns; Global here_key;", 1)
    source.write_text(text)
    textworld = find_spec("textworld")
    assert textworld is not None
    assert textworld.origin is not None
    inform = next(
        Path(textworld.origin).parent.glob("thirdparty/*/share/inform7/Compilers/inform6")
    )
    done = subprocess.run(
        [str(inform), f"-v{version}", str(source), str(story)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    source.unlink()
    return story
