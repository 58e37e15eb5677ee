"""Translates lines with a language model behind vLLM's HTTP server, for a computed value.

Not run by nmt_prep's tests: it needs a server, such as `vllm serve Unbabel/TowerInstruct-7B-v0.2`.

    computed:
      llm:
        program: 'python computed_vllm.py http://localhost:8000 Unbabel/TowerInstruct-7B-v0.2 {source} {target}'
        input: source
        output: text
        end: mark
        batch: 256
        version: greedy
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

server, model, source, target = sys.argv[1:]
PROMPT = "Translate the following text from {} into {}. Write only the translation.\n\n{}"


def translated(line):
    message = {"role": "user", "content": PROMPT.format(source, target, line)}
    asked = {"model": model, "messages": [message], "temperature": 0, "max_tokens": 1024}
    headers = {"Content-Type": "application/json"}
    request = Request(f"{server}/v1/chat/completions", json.dumps(asked).encode(), headers)
    with urlopen(request, timeout=300) as response:
        answer = json.load(response)["choices"][0]["message"]["content"]
    return " ".join(answer.split())


batch = []
with ThreadPoolExecutor(64) as pool:  # the server makes batches of requests
    for line in open(0, encoding="utf-8", newline="\n"):
        line = line.rstrip("\n")
        if line:
            batch.append(line)
            continue
        print("".join(f"{answer}\n" for answer in pool.map(translated, batch)), flush=True)
        batch = []
