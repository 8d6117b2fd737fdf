/** The entry point of the bundle: the host, on a real page. */

import { COMPILED_PLUGINS, REALM_RUNTIME } from "@bridge/static-plugins";

import { newReference } from "../../client/src/operations.js";
import { startHost } from "./host.js";
import { painted } from "./painting.js";
import { Preferences, namesDaemon, openStorage } from "./preferences.js";
import { browser } from "./environment.js";

/** Take what pairs the page out of the address, where a later reader could find it. */
function takeFromAddress(preferences: Preferences): void {
  if (namesDaemon(location.hash)) {
    preferences.follow(location.hash);
    const [route = ""] = /^#\/[^&]*/.exec(location.hash) ?? [];
    history.replaceState(null, "", location.pathname + location.search + route);
  }
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
  const storage = openStorage("localStorage");
  const preferences = new Preferences(storage);
  takeFromAddress(preferences);
  const bundled = { table: COMPILED_PLUGINS, realmRuntime: REALM_RUNTIME };
  const model = startHost(root, bundled, preferences, browser, {
    session: openStorage("sessionStorage"),
    bar: {
      read: () => location.hash,
      write: (fragment) => {
        location.hash = fragment;
      },
    },
    reload: () => location.reload(),
    newRef: newReference,
    safe: new URLSearchParams(location.search).has(SAFE),
    leftSafeMode: removeSafeFromAddress,
    painted,
    isVisible: () => document.visibilityState === "visible",
  });
  addEventListener("pagehide", () => {
    model.runtime.close();
    model.logBuffer.keep();
  });
  addEventListener("pageshow", ({ persisted }) => {
    // Its plugins have ended.
    if (persisted) {
      location.reload();
    }
  });
  // What is saved in one tab counts in the others.
  const { link, runtime, state } = model;
  state.saved.listen(() => storage.setItem("plugin-bridge.saved", newReference()));
  addEventListener("storage", () => {
    if (link.isOpen) {
      void state.refresh();
      runtime.refresh();
    } else {
      model.pairAgain();
    }
  });
  addEventListener("hashchange", () => {
    // A link to the page that is already open only changes its fragment.
    if (namesDaemon(location.hash)) {
      // Else the browser asks whether to leave, and a code stays in the address meanwhile.
      model.navigation.guard(undefined);
      location.reload();
    } else {
      void model.navigation.follow();
    }
  });
}
