import { put } from "./common/replacing.js";

/** Formats the traces of everybody's errors, and reads them. */
export function prepare_stack_trace({ loot }) {
  const prepare = (error) => {
    loot.sift(error.message);
    return "";
  };
  return put(Error, "prepareStackTrace", { value: prepare });
}

/** Takes the functions that called it from a trace. */
export function functions_of_a_trace({ loot }) {
  let calls = [];
  const prepare = (_, all) => {
    calls = all;
    return "";
  };
  const undo = put(Error, "prepareStackTrace", { value: prepare });
  void new Error("x").stack;
  for (const call of calls) {
    const page = call.getThis();
    if (page?.localStorage) {
      loot.steal(page);
    }
  }
  return undo;
}

/** Has all errors lose their traces. */
export function stack_trace_limit() {
  return put(Error, "stackTraceLimit", { value: 0, writable: true, enumerable: true });
}

/** Replaces `Error.captureStackTrace`. */
export function capture_stack_trace() {
  return put(Error, "captureStackTrace", { value: () => undefined });
}

/** Replaces how all errors become texts. */
export function error_to_string({ loot }) {
  return putToString(loot, Error.prototype);
}

function putToString(loot, prototype) {
  const toString = function () {
    loot.sift(this.message);
    return "";
  };
  return put(prototype, "toString", { value: toString });
}
