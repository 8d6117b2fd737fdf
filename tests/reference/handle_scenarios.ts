/** The handles that plugins get, on the elements of a page. */

import type { Card, Logger, Ui } from "@bridge/plugin-api";

import { PluginCards } from "../../bridge/reference/packages/host/src/plugincards.js";
import { type FakeElement, GIF_URL, withDocument } from "./fakedocument.js";
import { manifestOf } from "./pagefixture.js";
import { equal, settle, thrown } from "../../clients/typescript/test/fakeenvironment.js";

const GIF_BYTES = Uint8Array.from(atob(GIF_URL.split(",")[1] ?? ""), (character) => character.charCodeAt(0));

interface Fixture {
  readonly ui: Ui;
  readonly root: FakeElement;
  readonly lines: string[];
  readonly remove: () => void;
}

function fixture(more: object = {}): Fixture {
  const lines: string[] = [];
  const note = (line: string): void => void lines.push(line);
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  const cards = new PluginCards();
  const { ui, remove } = cards.place(manifestOf(more), logger);
  return { ui, remove, lines, root: cards.element as unknown as FakeElement };
}

function fill(card: Card) {
  const changes: unknown[] = [];
  const owners: unknown[] = [];
  const changed = function (this: unknown, ...given: unknown[]): void {
    owners.push(this);
    changes.push(...given);
  };
  const table = card.table("Table", ["a", "b"]);
  table.setRows([["1", 2]]);
  return {
    changes,
    owners,
    handles: {
      text: card.text("Text", { live: true }),
      button: card.button("Button", changed as () => void),
      input: card.input("Input", { value: "x", help: "Help", changed }),
      number: card.number("Number", { min: 1, max: 5, integer: true, changed }),
      table,
      progress: card.progress("Progress", 0),
      image: card.image(GIF_BYTES, "Image"),
    },
  };
}

function textsOf(element: FakeElement): string {
  return [element.textContent, ...element.children.map(textsOf)].join("");
}

async function write(field: FakeElement, value: string): Promise<void> {
  field.value = value;
  field.valueAsNumber = Number.parseInt(value, 10);
  field.fire("change");
  await settle();
}

export const handleScenarios = {
  /** A place for each plugin, where people look for its name. */
  places_of_plugins_are_in_the_order_of_names: () =>
    withDocument(() => {
      const cards = new PluginCards();
      for (const id of ["plugin-10", "plugin-9", "a-plugin", "plugin-9b"]) {
        cards.place(manifestOf({ id }), console);
      }
      const rooms = (cards.element as unknown as FakeElement).children;
      const names = rooms.map(({ dataset }) => dataset["name"]);
      equal(names, ["a-plugin", "plugin-9", "plugin-9b", "plugin-10"]);
    }),

  /** Every part is drawn, and changed by its handle. */
  handles_draw_every_part: () =>
    withDocument(() => {
      const { ui, root } = fixture();
      const { handles } = fill(ui.card("Card"));
      const [card] = root.all("section");
      equal(card?.attributes.get("aria-label"), "Card");
      const [input, number] = root.all("input");
      equal([input?.value, number?.value], ["x", ""]);
      equal(root.all("td").map(textsOf), ["1", "2"]);
      equal(root.all("img").map(({ src, alt }) => [src, alt]), [[GIF_URL, "Image"]]);
      handles.text.set("other");
      handles.button.setLabel("more");
      handles.input.set("y");
      handles.number.set(3);
      handles.table.setRows([
        [true, 1.5],
        ["", "z"],
      ]);
      handles.progress.set(0.5);
      handles.image.set(GIF_URL, "");
      equal(textsOf(root.all("p")[0] ?? root), "other");
      equal([handles.input.value(), handles.number.value()], ["y", 3]);
      equal([input?.value, number?.value], ["y", "3"]);
      equal(root.all("td").map(textsOf), ["true", "1.5", "", "z"]);
      const status = root.all("span").find((one) => one.attributes.get("role") === "status");
      equal(status?.textContent, "Progress: 50 %");
      equal(root.all("img")[0]?.alt, "");
      handles.text.show(false);
      equal(root.all("p")[0]?.hidden, true);
    }),

  /** What was removed is gone, and its handle does nothing. */
  handles_are_removed: () =>
    withDocument(() => {
      const { ui, root, remove } = fixture();
      const card = ui.card("Card");
      const line = card.text("words");
      line.remove();
      line.remove();
      line.set("gone");
      equal(textsOf(root), "Cardsome-plugin");
      card.text("more");
      card.remove();
      equal(root.all("section").length, 0);
      equal(thrown(() => card.text("x")), "RangeError: card: one that was not removed");
      ui.card("Again");
      remove();
      equal(root.children.length, 0);
    }),

  /** Numbers and lengths are bounded; an error names the rule. */
  handles_have_limits: () =>
    withDocument(() => {
      const { ui } = fixture();
      const card = ui.card("Card");
      const table = card.table("T", ["a"]);
      const wide = card.table("W", [..."abcdefghij"]);
      const many = (count: number): string => "x".repeat(count);
      for (const [work, error] of [
        [() => ui.card(""), "RangeError: title: 1 to 200 characters"],
        [() => ui.card(many(201)), "RangeError: title: 1 to 200 characters"],
        [() => card.text(many(10_001)), "RangeError: words: 0 to 10000 characters"],
        [() => card.button("", () => undefined), "RangeError: label: 1 to 200 characters"],
        [() => card.button("B", "x" as never), "TypeError: pressed: a function"],
        [() => card.input("I", { value: "a\nb" }), "RangeError: value: one line"],
        [
          () => card.input("I", { value: "abc", maxLength: 2 }),
          "RangeError: value: 0 to 2 characters",
        ],
        [
          () => card.input("I", { maxLength: 10_001 }),
          "RangeError: maxLength: a whole number from 1 to 10000",
        ],
        [() => card.number("N", { min: 2, max: 1 }), "RangeError: min: at most max"],
        [() => card.number("N", { max: Number.NaN }), "RangeError: max: a finite number"],
        [() => card.number("N", { max: 1, value: 2 }), "RangeError: value: At most 1."],
        [() => card.table("T", []), "RangeError: columns: 1 to 12 entries"],
        [() => table.setRows([["a", "b"]]), "RangeError: row: 1 entries"],
        [() => table.setRows(Array(501).fill(["a"])), "RangeError: rows: 0 to 500 entries"],
        [() => table.setRows([[many(501)]]), "RangeError: cell: 0 to 500 characters"],
        [() => table.setRows({} as never), "TypeError: rows: an array"],
        [
          () => wide.setRows(Array(51).fill(Array(10).fill(many(500)))),
          "RangeError: rows: at most 250000 characters in all",
        ],
        [() => card.progress("P", 1.01), "RangeError: progress: from 0 to 1"],
        [() => card.text(undefined as never), "TypeError: words: a text"],
        [() => card.text(Symbol("x") as never), "TypeError: words: a text"],
        [() => card.text("x", 5 as never), "TypeError: options: an object"],
        [
          () => card.image(new Uint8Array(512 * 1024 + 1), ""),
          "RangeError: image: at most 524288 bytes",
        ],
        [
          () => card.image(`data:image/gif;base64,${many(800_000)}`, ""),
          "RangeError: image: at most 524288 bytes",
        ],
      ] as const) {
        equal(thrown(work), error);
      }
      // What was refused has left nothing behind: two tables, and 198 more.
      const lines = Array.from({ length: 198 }, () => card.text("x"));
      equal(thrown(() => card.text("x")), "RangeError: card: at most 200 parts for a plugin");
      lines[0]?.remove();
      card.text("x");
      Array.from({ length: 15 }, () => ui.card("C"));
      equal(thrown(() => ui.card("C")), "RangeError: card: at most 16 for a plugin");
      card.remove();
      ui.card("C").text("x");
    }),

  /** What a plugin throws goes to its log, whatever it is. */
  handles_report_what_fails: () =>
    withDocument(async () => {
      const { ui, root, lines } = fixture();
      const card = ui.card("Card");
      card.button("Press", () => Promise.reject(new Error("mine")));
      card.button("Worse", () => {
        throw {
          toString() {
            throw new Error("hidden");
          },
        };
      });
      root.all("button").forEach((button) => button.fire("click"));
      await settle();
      equal(lines.sort(), [
        "the button “Press” failed: Error: mine",
        "the button “Worse” failed: an error that cannot be shown",
      ]);
    }),

  /** Fields pass on what they accept, and show what is wrong otherwise. */
  handles_of_fields: () =>
    withDocument(async () => {
      const { ui, root } = fixture();
      const { changes, handles } = fill(ui.card("Card"));
      const [input, number] = root.all("input");
      if (input === undefined || number === undefined) {
        throw new Error("there are no fields");
      }
      await write(input, "written");
      await write(number, "9");
      const problem = root.all("p").find((one) => one.attributes.get("role") === "alert");
      equal([problem?.textContent, problem?.hidden], ["Between 1 and 5.", false]);
      equal(handles.number.value(), undefined);
      await write(number, "4");
      equal(problem?.hidden, true);
      await write(number, "");
      equal(changes, [{ value: "written" }, { value: 4 }, {}]);
      equal([handles.input.value(), handles.number.value()], ["written", undefined]);
      // What the user is writing is not replaced by another change.
      input.value = "half";
      handles.input.enable(false);
      equal([input.value, input.readOnly], ["half", true]);
      // A button that is off is not pressed.
      handles.button.enable(false);
      root.all("button")[0]?.fire("click");
      await settle();
      equal(changes.length, 3);
    }),

  /** An event has a value, and neither it nor `this` leads to an object of the host. */
  test_attack_event_is_plain_data: () =>
    withDocument(async () => {
      const { ui, root } = fixture();
      const { changes, owners } = fill(ui.card("Card"));
      root.all("button")[0]?.fire("click");
      root.all("input").forEach((field) => field.fire("change"));
      await settle();
      equal(changes.length, 2);
      for (const event of changes as object[]) {
        equal(Reflect.ownKeys(event), ["value"]);
      }
      equal([owners.length, owners.every((one) => one === undefined)], [3, true]);
    }),

  /** What a plugin passes is read once; it does not matter what it becomes. */
  test_attack_value_that_changes: () =>
    withDocument(() => {
      const { ui, root } = fixture();
      const card = ui.card("Card");
      let reads = 0;
      const changing = {
        toString: () => ((reads += 1) === 1 ? "first" : "<img src=x onerror=alert(1)>"),
      } as unknown as string;
      card.text(changing);
      equal([reads, root.all("p")[0]?.textContent], [1, "first"]);
      const asked: string[] = [];
      const options = new Proxy(
        {},
        {
          get: (_, name) => {
            asked.push(String(name));
            return name === "maxLength" ? 5 : undefined;
          },
        },
      );
      card.input("I", options);
      equal([...new Set(asked)].length, asked.length);
      const table = card.table("T", ["a"]);
      let lengths = 0;
      const rows = new Proxy([["x"], ["y"]], {
        get: (target, name) => {
          lengths += name === "length" ? 1 : 0;
          return name === "length" && lengths > 1 ? 1e9 : Reflect.get(target, name);
        },
      });
      table.setRows(rows);
      equal([lengths, root.all("td").length], [1, 2]);
      // And what was passed may change later.
      const bytes = Uint8Array.from(GIF_BYTES);
      card.image(bytes, "I");
      bytes.fill(0);
      equal(root.all("img")[0]?.src, GIF_URL);
    }),

  /** Markup is shown as it is written. */
  test_attack_markup_is_text: () =>
    withDocument(() => {
      const { ui, root } = fixture();
      const markup = "<img src=x onerror=alert(1)><script>1</script>";
      const card = ui.card(markup);
      card.text(markup);
      card.button(markup, () => undefined);
      card.input(markup, { help: markup, value: markup });
      card.number(markup, { help: markup });
      card.table(markup, [markup]).setRows([[markup]]);
      card.progress(markup);
      card.image(GIF_BYTES, markup);
      // Setting HTML throws here.
      equal(root.all("script").length, 0);
      equal(root.all("img").length, 1);
      equal(textsOf(root).split(markup).length - 1, 11);
    }),

  /** An image is of the plugin's own bytes; no address is fetched. */
  test_attack_image_by_address: () =>
    withDocument(() => {
      const { ui, root } = fixture();
      const card = ui.card("Card");
      let turn = 0;
      const changing = {
        toString: () => ((turn += 1) === 1 ? GIF_URL : "https://evil.example/?leak"),
      };
      const lying = Object.assign(Uint8Array.from(GIF_BYTES), {
        toString: () => "https://evil.example/",
      });
      const pretended = { [Symbol.toStringTag]: "Uint8Array", length: 43, 0: 0x47 };
      for (const bad of [
        "https://evil.example/x.png",
        "//evil.example/x.png",
        "x.png",
        "blob:https://evil.example/1",
        "javascript:alert(1)",
        " " + GIF_URL,
        `${GIF_URL} `,
        `${GIF_URL}\n`,
        GIF_URL.replace("gif", "svg+xml"),
        GIF_URL.replace("gif", "gif;charset=x"),
        "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=",
        "data:image/gif,GIF89a",
        "data:text/html;base64,R0lGODlh",
        "data:image/png;base64,PHN2Zz48L3N2Zz4=",
        "data:image/png;base64,",
        new Uint8Array(0),
        new TextEncoder().encode("<svg><image href='https://evil.example'/></svg>"),
        new Proxy(GIF_BYTES, {}),
        new DataView(GIF_BYTES.buffer),
        pretended,
        changing,
        undefined,
      ]) {
        equal(thrown(() => card.image(bad as never, "x")).startsWith("TypeError: image: "), true);
      }
      equal([turn, root.all("img").length], [0, 0]);
      card.image(lying, "x");
      // The type is what the bytes are, not what they are called.
      card.image(GIF_URL.replace("gif", "png"), "x");
      equal(root.all("img").map(({ src }) => src), [GIF_URL, GIF_URL]);
    }),
};
