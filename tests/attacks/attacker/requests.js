/** Sends a request with `fetch`. */
export async function fetched({ elsewhere }) {
  await fetch(elsewhere, { mode: "no-cors" });
}

/** Sends a request with a `fetch` that it has as a value. */
export async function fetch_as_a_value({ elsewhere }) {
  const [send] = [fetch];
  await send(elsewhere, { mode: "no-cors" });
}

/** Sends a request with `XMLHttpRequest`. */
export async function xml_http_request({ elsewhere }) {
  const request = new XMLHttpRequest();
  request.open("GET", elsewhere);
  await new Promise((resolve) => {
    request.onloadend = resolve;
    request.send();
  });
}

/** Opens a WebSocket. */
export async function web_socket({ elsewhere }) {
  const socket = new WebSocket(elsewhere.replace("http", "ws"));
  await new Promise((resolve) => {
    socket.onerror = resolve;
  });
}

/** Opens a stream of events. */
export async function event_source({ elsewhere }) {
  const source = new EventSource(elsewhere);
  await new Promise((resolve) => {
    source.onerror = resolve;
  });
  source.close();
}

/** Sends a beacon. */
export async function beacon({ elsewhere }) {
  navigator.sendBeacon(elsewhere, "x");
}

/** Loads an image. */
export async function image({ elsewhere }) {
  await loaded(new Image(), elsewhere);
}

/** Loads a sound. */
export async function sound({ elsewhere }) {
  await loaded(new Audio(), elsewhere);
}

function loaded(element, address) {
  return new Promise((resolve) => {
    element.onload = resolve;
    element.onerror = resolve;
    element.src = address;
  });
}

/** Loads a font. */
export async function font({ elsewhere }) {
  await new FontFace("x", `url(${elsewhere})`).load();
}

