"""The valid actions: which skills make sense now, the most useful first."""

from __future__ import annotations

from arigraph_local.envs.nethack.doors import door_skills
from arigraph_local.envs.nethack.exploring import explore_skills
from arigraph_local.envs.nethack.fighting import fight_skills
from arigraph_local.envs.nethack.handling import (
    device_skills,
    eat_skills,
    pick_up_skills,
    shop_skills,
    use_skills,
)
from arigraph_local.envs.nethack.play import Play
from arigraph_local.envs.nethack.resting import protection_skills, resting_skills
from arigraph_local.envs.nethack.skill import Skill
from arigraph_local.envs.nethack.walking import go_skills, go_to_skills, travel_skills


def offered_skills(play: Play, *, whole_level: bool) -> dict[str, Skill]:
    """The skills by their texts. An agent that reads only the first of them misses the least."""
    if play.over:
        return {}
    skills = [
        *fight_skills(play),
        *explore_skills(play),
        *go_skills(play),
        *travel_skills(play),
        *pick_up_skills(play),
        *shop_skills(play),
        *door_skills(play),
        *go_to_skills(play, whole_level=whole_level),
        *eat_skills(play),
        *protection_skills(play),
        *resting_skills(play),
        *device_skills(play),
        *use_skills(play),
    ]
    found: dict[str, Skill] = {}
    for skill in skills:
        found.setdefault(skill.text, skill)
    return found
