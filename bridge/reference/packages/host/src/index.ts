/** The entry point of the bundle: the host, on a real page. */

import { COMPILED_PLUGINS } from "@bridge/static-plugins";

import { startHost } from "./host.js";
import { Preferences } from "./preferences.js";
import { openStorage } from "./storage.js";
import { browser } from "./environment.js";

function takeEndpointFromAddress(preferences: Preferences): boolean {
  const taken = preferences.follow(location.hash);
  if (taken) {
    history.replaceState(null, "", location.pathname + location.search);
  }
  return taken;
}

/** The part of the address that asks for a page without plugins: `?safe`. */
const SAFE = "safe";

function removeSafeFromAddress(): void {
  const address = new URL(location.href);
  address.searchParams.delete(SAFE);
  history.replaceState(null, "", address);
}

const root = document.getElementById("host");
if (root !== null) {
  const storage = openStorage();
  const preferences = new Preferences(storage);
  takeEndpointFromAddress(preferences);
  const runtime = startHost(root, COMPILED_PLUGINS, preferences, browser, {
    storage,
    reload: () => location.reload(),
    safe: new URLSearchParams(location.search).has(SAFE),
    leftSafeMode: removeSafeFromAddress,
  });
  addEventListener("pagehide", () => runtime.left());
  // A link to the page that is already open only changes its fragment.
  addEventListener("hashchange", () => {
    if (takeEndpointFromAddress(preferences)) {
      location.reload();
    }
  });
}
