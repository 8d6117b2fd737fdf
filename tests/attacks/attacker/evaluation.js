const CODE = "globalThis";

/** Evaluates text with `eval` by its name. */
export function eval_by_name({ loot }) {
  loot.steal(eval(CODE));
}

/** Evaluates text with `eval` as a value. */
export function eval_as_a_value({ loot }) {
  loot.steal((0, eval)(CODE));
}

/** Evaluates text with `Function` by its name. */
export function function_by_name({ loot }) {
  loot.steal(Function("return this")());
}

/** Imports a module that is a `data:` address. */
export async function imported_data({ loot }) {
  const address = ["data:text/javascript", "export default globalThis"].join(",");
  loot.steal((await import(address)).default);
}

/** Imports a module that it has made as a `blob:` address. */
export async function imported_blob({ loot }) {
  const text = new Blob(["export default globalThis"], { type: "text/javascript" });
  const address = URL.createObjectURL(text);
  loot.steal((await import(address)).default);
}

/** Imports a module from another server. */
export async function imported_from_elsewhere({ elsewhere }) {
  const address = `${elsewhere}.js`;
  await import(address);
}

/** Starts a worker of text, which sends a request. */
export async function worker_of_text({ elsewhere }) {
  await worked(elsewhere, (address) => new Worker(address));
}

/** Starts a shared worker of text, which sends a request. */
export async function shared_worker_of_text({ elsewhere }) {
  await worked(elsewhere, (address) => new SharedWorker(address).port);
}

async function worked(elsewhere, start) {
  const code = `fetch(${JSON.stringify(elsewhere)}).catch(() => 0)`;
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const worker = start(address);
  await new Promise((resolve) => {
    worker.onerror = resolve;
    setTimeout(resolve, 300);
  });
}

/** Loads a worklet from another server. */
export async function worklet({ elsewhere }) {
  await new OfflineAudioContext(1, 1, 8000).audioWorklet.addModule(`${elsewhere}.js`);
}
