/** @jsx h */
/** The newest lines of the page's log and of the daemon's. */

import { API_VERSION } from "@bridge/plugin-api";
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { LEVELS, type Level, levelOf } from "../log.js";
import { diagnostics } from "../model/diagnostics.js";
import { type Line, filtered, lineText } from "../model/logbuffer.js";
import type { PageModel } from "../model/model.js";
import { count } from "../model/words.js";
import type { ViewProps } from "./app.js";
import { Actions, Button, Copy, Field, Select, Title, useChanges } from "./parts.js";

const LEVEL_WORDS: { readonly [level in Level]: string } = {
  debug: "Everything",
  info: "Information",
  warn: "Warnings and errors",
  error: "Errors only",
};

export function LogView({ model }: ViewProps) {
  const { logBuffer } = model;
  useChanges(logBuffer.changed);
  const [level, setLevel] = useState<Level>("info");
  const [scope, setScope] = useState("");
  const [search, setSearch] = useState("");
  const [paused, setPaused] = useState<readonly Line[] | undefined>(undefined);
  const [report, setReport] = useState("");
  const all = paused ?? logBuffer.lines;
  const lines = filtered(all, { level, scope, search });
  const scopes = [...new Set(["", scope, ...logBuffer.lines.map((line) => line.scope)])].sort();
  return (
    <section class="panel stack" id="log">
      <Title>Log</Title>
      <div class="row filter">
        <Select
          id="log-level"
          label="Level"
          value={level}
          options={LEVELS.map((value) => ({ value, label: LEVEL_WORDS[value] }))}
          onValue={(value) => setLevel(levelOf(value))}
        />
        <Select
          id="log-scope"
          label="From"
          value={scope}
          options={scopes.map((value) => ({ value, label: value || "All" }))}
          onValue={setScope}
        />
        <Field id="log-find" type="search" label="Find" value={search} onValue={setSearch} />
      </div>
      <Lines lines={lines} none={all.length === 0 ? "Nothing yet." : "No line matches."} />
      <Actions>
        <Button
          id="log-pause"
          onPress={() => setPaused(paused === undefined ? logBuffer.lines : undefined)}
        >
          {paused === undefined ? "Pause" : "Go on"}
        </Button>
        <Copy
          id="log-copy"
          name="Copy the lines"
          text={() => lines.map(lineText).join("\n")}
          done={() => `Copied ${count(lines.length, "line")}.`}
          announcer={model.announcer}
        />
        <Button
          id="log-clear"
          onPress={() => {
            logBuffer.clear();
            setPaused(undefined);
            model.announcer.polite("The log is empty.");
          }}
        >
          Clear
        </Button>
        <Button id="diagnostics" onPress={() => void makeReport(model).then(setReport)}>
          Diagnostics…
        </Button>
      </Actions>
      {report === "" ? null : <Report model={model} report={report} />}
    </section>
  );
}

function Lines({ lines, none }: { readonly lines: readonly Line[]; readonly none: string }) {
  const box = useRef<HTMLOListElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current && box.current !== null) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  });
  if (lines.length === 0) {
    return <p class="empty" id="log-empty">{none}</p>;
  }
  return (
    <ol
      id="log-lines"
      tabIndex={0}
      aria-label="Lines"
      ref={box}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollTop + clientHeight >= scrollHeight - 8;
      }}
    >
      {lines.map(({ number, level, scope, message, ts }) => (
        <li key={number} data-level={level}>
          <time class="dim">{new Date(ts).toTimeString().slice(0, 8)}</time>
          <span>{level}</span>
          <span class="dim">{scope}</span>
          <span class="message" dir="auto">
            {message}
          </span>
        </li>
      ))}
    </ol>
  );
}

async function makeReport(model: PageModel): Promise<string> {
  const { link, logBuffer, rows } = model;
  const none = { targets: [] };
  const { targets } = await link.call("notify/targets").catch(() => none);
  return diagnostics({
    daemon: link.version,
    api: API_VERSION,
    browser: navigator.userAgent,
    state: [link.state, link.reason].join(" ").trim(),
    closes: link.closes,
    rows,
    targets,
    lines: logBuffer.lines,
  });
}

function Report({ model, report }: ViewProps & { readonly report: string }) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), [report]);
  return (
    <div class="card stack" id="report">
      <label for="report-text">Diagnostics</label>
      <p id="report-help">Read it before you share it.</p>
      <textarea id="report-text" aria-describedby="report-help" rows={12} readOnly ref={area}>
        {report}
      </textarea>
      <Actions>
        <Copy text={report} announcer={model.announcer} name="Copy the diagnostics" />
      </Actions>
    </div>
  );
}
