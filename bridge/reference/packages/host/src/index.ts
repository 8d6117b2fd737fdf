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

const root = document.getElementById("host");
if (root !== null) {
  const preferences = new Preferences(openStorage());
  takeEndpointFromAddress(preferences);
  startHost(root, COMPILED_PLUGINS, preferences, browser, () => location.reload());
  // A link to the page that is already open only changes its fragment.
  addEventListener("hashchange", () => {
    if (takeEndpointFromAddress(preferences)) {
      location.reload();
    }
  });
}
