// It marks the page, since the result of a text is lost.
const CODE = "globalThis.document.documentElement.lang = 'DEFACED'";

/** Evaluates text with `setTimeout`. */
export async function text_of_a_timeout() {
  const text = [CODE][0];
  setTimeout(text, 0);
  await passed();
}

/** Evaluates text with `setInterval`. */
export async function text_of_an_interval() {
  const text = [CODE][0];
  clearInterval(await passed(setInterval(text, 1)));
}

/** Evaluates what an object becomes when it is made a text. */
export async function text_of_an_object() {
  setTimeout({ toString: () => CODE }, 0);
  await passed();
}

/** Takes `this` of a function that `setTimeout` calls. */
export async function this_of_a_timeout({ loot }) {
  await new Promise((resolve, reject) => {
    setTimeout(function () {
      try {
        resolve(loot.steal(this));
      } catch (e) {
        reject(e);
      }
    }, 0);
  });
}

/** Takes `this` of a function that `setInterval` calls. */
export async function this_of_an_interval({ loot }) {
  await new Promise((resolve, reject) => {
    const id = setInterval(function () {
      clearInterval(id);
      try {
        resolve(loot.steal(this));
      } catch (e) {
        reject(e);
      }
    }, 1);
  });
}

/** Ends every timeout and interval of the page with `clearTimeout`, so that others stop. */
export async function clear_timeout_of_others() {
  await passed();
  for (let id = 1; id < 5000; id += 1) {
    clearTimeout(id);
  }
}

// The other plugins have started by then.
function passed(value) {
  return new Promise((resolve) => setTimeout(() => resolve(value), 60));
}
