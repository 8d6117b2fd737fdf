/** Formats the traces of everybody's errors, and reads them. */
export function prepare_stack_trace({ loot }) {
  Error.prepareStackTrace = (error) => {
    loot.sift(error.message);
    return "";
  };
}

/** Takes the functions that called it from a trace. */
export function functions_of_a_trace({ loot }) {
  let calls = [];
  Error.prepareStackTrace = (_, all) => {
    calls = all;
    return "";
  };
  void new Error("x").stack;
  for (const call of calls) {
    const page = call.getThis();
    if (page?.localStorage) {
      loot.steal(page);
    }
  }
}

/** Has all errors lose their traces. */
export function stack_trace_limit() {
  Error.stackTraceLimit = 0;
}

/** Replaces `Error.captureStackTrace`. */
export function capture_stack_trace() {
  Error.captureStackTrace = () => undefined;
}

/** Replaces how all errors become texts. */
export function error_to_string({ loot }) {
  Error.prototype.toString = function () {
    loot.sift(this.message);
    return "";
  };
}

/** Changes the class of errors that plugins share through the API. */
export function error_of_the_api({ api, loot }) {
  api.PermissionError.prototype.toString = function () {
    loot.sift(this.message);
    return "";
  };
}

/** Changes the class of an error that the host threw. */
export async function error_of_the_host({ ctx, loot }) {
  try {
    await ctx.native.notify({ title: "x" });
  } catch (e) {
    Object.getPrototypeOf(e).toString = function () {
      loot.sift(this.message);
      return "";
    };
  }
}
