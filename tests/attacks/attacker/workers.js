/** Runs a script from another server in its realm. */
export function imported_script({ elsewhere }) {
  globalThis["import" + "Scripts"](`${elsewhere}.js`);
}

/** Has a worker of its own send a request. */
export async function request_of_a_worker({ elsewhere }) {
  const text = `fetch(${JSON.stringify(elsewhere)}, { mode: "no-cors" })`;
  const worker = new Worker(URL.createObjectURL(new Blob([text])));
  await moments(300);
  worker.terminate();
}

/** Has a cache fetch an address. */
export async function cached({ elsewhere }) {
  const cache = await caches.open("attacker");
  await cache.add(new Request(elsewhere, { mode: "no-cors" }));
}

/** Speaks to other plugins, past the page. */
export function broadcast() {
  new BroadcastChannel("plugins").postMessage(0);
}

/** Has a directory of the page's origin. */
export function directory_of_the_origin() {
  return navigator.storage.getDirectory().then(() => undefined);
}

/** Asks what it may do, which is work for the thread that all plugins share. */
export function permission_query() {
  return navigator.permissions.query({ name: "notifications" }).then(() => undefined);
}

/** Reads the cookies of the origin. */
export async function cookies_of_the_origin({ loot }) {
  loot.take(await cookieStore.getAll());
}

const moments = (count) => new Promise((resolve) => setTimeout(resolve, count));
