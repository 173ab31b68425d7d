"""What a real Slurm printed, as tests/data/slurm_*.txt have it: commands by situation, each with its lines."""

import os


def read_cases(name):
    """{situation: [[command, [line …], [stderr line …], exit status] …]}"""
    cases, situation = {}, None
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", name), encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if line.startswith("== "):
                situation = cases.setdefault(line[3:], [])
            elif line.startswith("$ "):
                situation.append([line[2:], [], [], None])
            elif situation and line.startswith("[stderr] "):
                situation[-1][2].append(line[9:])
            elif situation and line.startswith("[exit "):
                situation[-1][3] = int(line[6:-1])
            elif situation and situation[-1][3] is None:
                situation[-1][1].append(line)
    return cases
