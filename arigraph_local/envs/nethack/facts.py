"""What can be said truly of a game in progress, as propositions."""

from __future__ import annotations

from arigraph_local.envs.environment import TrueFact
from arigraph_local.envs.nethack.describing import things_in
from arigraph_local.envs.nethack.grid import column_of, row_of
from arigraph_local.envs.nethack.play import Play
from arigraph_local.envs.nethack.terrain import Terrain
from arigraph_local.envs.nethack.wording import plain

PLAYER, INVENTORY = "player", "inventory"


def facts_of(play: Play) -> frozenset[TrueFact]:
    """Where the player is, what he carries, and what is known to be in this place.

    What he has not seen is not among them: NetHack does not tell it.
    """
    level, sight = play.level, play.sight
    place, location = play.place, level.location(sight)
    facts = {
        TrueFact("at", (PLAYER, location)),
        TrueFact("dungeon level", (str(sight.vitals.depth),)),
        TrueFact("position", (str(row_of(sight.hero)), str(column_of(sight.hero)))),
    }
    facts |= {TrueFact("in", (plain(item.name), INVENTORY)) for item in sight.inventory}
    facts |= {TrueFact("at", (plain(name), location)) for name in play.lying_here}
    facts |= {TrueFact("at", (plain(thing.name), location)) for thing in things_in(level, place)}
    for thing in sight.monsters():
        facts.add(TrueFact(str(thing.kind), (thing.name,)))
        if level.places.of(thing.square) == place:
            facts.add(TrueFact("at", (thing.name, location)))
    for one in level.places.exits(level.ground, place):
        facts.add(TrueFact("exit", (one.name, location)))
        if level.ground[one.square] == Terrain.CLOSED_DOOR:
            facts.add(TrueFact("closed", (one.name, location)))
    return frozenset(facts)
