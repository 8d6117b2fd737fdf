import type { ListEntry, OperationEntry, OperationName, Progress } from "../../../client/src/index.js";
import type { Link } from "../link.js";
import { Signal } from "../signal.js";
import { fields, list, text } from "../wire.js";
import { OVER_WORDS, type Problem, type TaskKind, explain } from "./words.js";

const OWN_KEY = "plugin-bridge.operations";
const KEPT = 20;
// What changes nothing that the page lists.
const NOT_SHOWN: ReadonlySet<string> = new Set(["preview", "reach_host", "build"]);
// An operation of another page is asked about until it ends.
const ASK_AGAIN_MILLISECONDS = 5_000;
// What a build belongs to ends soon after it.
const ENDING_MILLISECONDS = 500;

export type Outcome = "" | "done" | "refused" | "cancelled";

/** An operation on plugins, under way or ended. */
export interface Task {
  readonly ref: string;
  /** The daemon's name of it; empty until that is known. */
  readonly operation: string;
  readonly kind: TaskKind;
  /** The plugin's id; empty while it is not known. */
  readonly id: string;
  /** The plugin's name, or where it comes from; empty while neither is known. */
  readonly name: string;
  /** Empty before the first one. */
  readonly step: string;
  /** When the step began, by `performance`; 0 when that was before this page was loaded. */
  readonly stepSince: number;
  readonly cancellable: boolean;
  readonly cancelling: boolean;
  /** Empty while it is under way. */
  readonly outcome: Outcome;
  readonly problem: Problem | undefined;
  /** Whether this page, or the same before a reload, began it. */
  readonly own: boolean;
}

/** What is remembered of an operation of this page. */
interface Own {
  readonly ref: string;
  readonly name: string;
}

interface Needs {
  readonly link: Link;
  readonly storage: Pick<Storage, "getItem" | "setItem">;
  readonly later: (milliseconds: number, work: () => void) => () => void;
  readonly newRef: () => string;
}

/** The operations under way, and those that ended and were not dismissed yet. */
export class Operations {
  readonly changed = new Signal();
  /** An operation of this page ended. */
  readonly ended = new Signal<Task>();
  readonly #needs: Needs;
  readonly #tasks = new Map<string, Task>();
  readonly #dismissed = new Set<string>();
  readonly #running = new Set<string>();
  #askAgain = (): void => undefined;

  constructor(needs: Needs) {
    this.#needs = needs;
    needs.link.on("progress", (step) => this.#advance(step));
    needs.link.on("build", () => this.#askIn(ENDING_MILLISECONDS));
  }

  /** The oldest first. */
  get tasks(): readonly Task[] {
    return [...this.#tasks.values()];
  }

  /** Whether an operation is under way. */
  get busy(): boolean {
    return this.tasks.some(({ outcome }) => outcome === "");
  }

  /**
   * Run an operation.
   *
   * @param name The plugin's name, or where it comes from.
   * @returns How it ended; never rejects.
   */
  async run(
    kind: Exclude<TaskKind, "">,
    name: string,
    params: { readonly [key: string]: unknown },
  ): Promise<Task> {
    const ref = this.#needs.newRef();
    this.#remember({ ref, name });
    this.#running.add(ref);
    this.#dropEnded();
    this.#put({ ...NEW, ref, kind, name, id: text(params["id"]), own: true });
    try {
      const onProgress = (step: Progress): void => this.#step(ref, step);
      const method: OperationName = `plugins/${kind}`;
      const all = { ...params, ref } as never;
      const { plugin } = pluginIn(await this.#needs.link.operate(method, all, { onProgress }));
      return this.#end(ref, "done", undefined, plugin);
    } catch (e) {
      const problem = explain(e, kind);
      const ended = this.#end(ref, problem.kind === "cancelled" ? "cancelled" : "refused", problem);
      if (isUnknown(ended)) {
        void this.refresh();
      }
      return ended;
    } finally {
      this.#running.delete(ref);
    }
  }

  /** Ask the daemon to stop an operation; it may be too late. */
  async cancel(ref: string): Promise<Problem | undefined> {
    const task = this.#tasks.get(ref);
    if (task === undefined || task.operation === "") {
      return undefined;
    }
    this.#change(ref, { cancelling: true });
    try {
      await this.#needs.link.call("plugins/cancel", { operation: task.operation });
      return undefined;
    } catch (e) {
      const problem = explain(e);
      const isLate = problem.kind === "not_cancellable";
      this.#change(ref, { cancelling: false, ...(isLate && { cancellable: false }) });
      return problem;
    }
  }

  /** Show operations that ended, and no others, the first of them on top. */
  showEnded(tasks: readonly Task[]): void {
    this.#dropEnded();
    [...tasks].reverse().forEach((task) => this.#put(task));
  }

  /** Show an ended operation no more. */
  dismiss(ref: string): void {
    this.#dismissed.add(ref);
    this.#tasks.delete(ref);
    this.changed.emit();
  }

  /** Ask the daemon what is under way; called when a connection opens. */
  async refresh(): Promise<void> {
    this.#askAgain();
    const { link } = this.#needs;
    const answer = await link.call("plugins/operations").catch(() => undefined);
    if (answer !== undefined) {
      this.#read(answer.operations);
    }
    const waits = this.tasks.some(({ ref, outcome }) => outcome === "" && !this.#running.has(ref));
    // Without a connection, the next one asks again.
    if (link.isOpen && (waits || answer === undefined)) {
      this.#askIn(ASK_AGAIN_MILLISECONDS);
    }
  }

  #read(operations: readonly OperationEntry[]): void {
    const own = this.#own();
    const listed = operations.filter(({ op }) => !NOT_SHOWN.has(op));
    for (const operation of listed) {
      this.#merge(operation, own);
    }
    this.#forgetForeign(new Set(listed.map(refOf)));
    if (listed.every(({ outcome }) => outcomeOf(outcome) !== "")) {
      this.tasks.filter(isUnknown).forEach((task) => this.#giveUp(task));
    }
  }

  #askIn(milliseconds: number): void {
    this.#askAgain();
    this.#askAgain = this.#needs.later(milliseconds, () => void this.refresh());
  }

  // Nothing is under way: a daemon that was started again lists nothing of before.
  #giveUp(task: Task): void {
    const over: Task = { ...task, problem: { words: OVER_WORDS, details: "", kind: "" } };
    this.#put(over);
    this.ended.emit(over);
  }

  #merge(entry: OperationEntry, own: readonly Own[]): void {
    const { operation, op, id, step, cancellable, error, result } = entry;
    const ref = refOf(entry);
    const known = this.#tasks.get(ref);
    const mine = own.find((one) => one.ref === ref);
    const outcome = outcomeOf(entry.outcome);
    // A list that was asked for earlier may be older than what is known by now.
    const isEnded = known !== undefined && known.outcome !== "" && !isUnknown(known);
    if (isEnded || this.#running.has(ref) || this.#dismissed.has(ref)) {
      return;
    }
    if (outcome !== "" && mine === undefined) {
      // The page that began it learns how it ended; here, the list changes.
      this.#tasks.delete(ref);
      return;
    }
    const kind = kindOf(op);
    const { plugin } = pluginIn(result);
    const task: Task = {
      ...(known ?? NEW),
      ref,
      kind,
      operation,
      id: id ?? plugin?.id ?? known?.id ?? "",
      name: plugin?.name ?? known?.name ?? mine?.name ?? "",
      step,
      cancellable,
      own: mine !== undefined,
      outcome,
      problem: error && explain(Object.assign(new Error(error.message), error), kind),
    };
    this.#put(task);
    if (outcome !== "") {
      this.#forgetRef(ref);
      this.ended.emit(task);
    }
  }

  // Another page's operation that is not listed any more has ended.
  #forgetForeign(listed: ReadonlySet<string>): void {
    for (const { ref, outcome, own } of this.tasks) {
      const isLost = !this.#running.has(ref) && !listed.has(ref);
      if (isLost && (outcome === "" || !own)) {
        this.#tasks.delete(ref);
      }
    }
    this.changed.emit();
  }

  #advance(step: Progress): void {
    const ref = refOf(step);
    if (NOT_SHOWN.has(step.op) || ref === "") {
      return;
    }
    if (!this.#tasks.has(ref)) {
      this.#put({ ...NEW, ref, kind: kindOf(step.op), id: step.id ?? "" });
      void this.refresh();
    }
    this.#step(ref, step);
  }

  #step(ref: string, { operation, id, step, cancellable }: Progress): void {
    const task = this.#tasks.get(ref);
    if (task === undefined || task.outcome !== "") {
      return;
    }
    const stepSince = task.step === step ? task.stepSince : performance.now();
    this.#change(ref, { operation, id: id ?? task.id, step, stepSince, cancellable });
  }

  #end(ref: string, outcome: Outcome, problem?: Problem, plugin?: ListEntry): Task {
    const task = this.#tasks.get(ref) ?? NEW;
    const ended: Task = {
      ...task,
      id: plugin?.id ?? task.id,
      name: plugin?.name ?? task.name,
      outcome,
      problem,
      cancellable: false,
      cancelling: false,
    };
    this.#put(ended);
    if (!isUnknown(ended)) {
      this.#forgetRef(ref);
    }
    this.ended.emit(ended);
    return ended;
  }

  #change(ref: string, change: Partial<Task>): void {
    const task = this.#tasks.get(ref);
    if (task !== undefined) {
      this.#put({ ...task, ...change });
    }
  }

  #put(task: Task): void {
    this.#tasks.set(task.ref, task);
    this.changed.emit();
  }

  #dropEnded(): void {
    for (const { ref, outcome } of this.tasks) {
      if (outcome !== "") {
        this.dismiss(ref);
      }
    }
  }

  #own(): readonly Own[] {
    try {
      const kept: unknown = JSON.parse(this.#needs.storage.getItem(OWN_KEY) ?? "[]");
      return list(kept).map(fields).map(({ ref, name }) => ({ ref: text(ref), name: text(name) }));
    } catch {
      return [];
    }
  }

  // Its outcome is shown: the page does not show it again after a reload.
  #forgetRef(ref: string): void {
    this.#write(this.#own().filter((own) => own.ref !== ref));
  }

  // Before the request goes out: after a reload the page must know which ones are its own.
  #remember(own: Own): void {
    this.#write([...this.#own(), own].slice(-KEPT));
  }

  #write(own: readonly Own[]): void {
    this.#needs.storage.setItem(OWN_KEY, JSON.stringify(own));
  }
}

const NEW: Task = {
  ref: "",
  operation: "",
  kind: "",
  id: "",
  name: "",
  step: "",
  stepSince: 0,
  cancellable: false,
  cancelling: false,
  outcome: "",
  problem: undefined,
  own: false,
};

// Others may have asked without a name.
function refOf({ ref, operation }: Pick<Progress, "ref" | "operation">): string {
  return ref ?? operation;
}

function isUnknown({ problem }: Task): boolean {
  return problem?.kind === "disconnected";
}

/** The plugin in an answer, which an uninstall has not. */
function pluginIn(answer: object | undefined): { readonly plugin?: ListEntry } {
  return answer ?? {};
}

function kindOf(op: string): TaskKind {
  return op === "install" || op === "update" || op === "uninstall" || op === "forget_key"
    ? op
    : "";
}

function outcomeOf(value: unknown): Outcome {
  return value === "done" || value === "refused" || value === "cancelled" ? value : "";
}
