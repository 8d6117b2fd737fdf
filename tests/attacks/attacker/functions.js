import { definePlugin } from "@bridge/plugin-api";

const CODE = "return this";

/** Evaluates text with the constructor of an object's constructor. */
export function constructor_of_a_constructor({ loot }) {
  loot.steal({}.constructor.constructor(CODE)());
}

/** Evaluates text with the constructor of an async function. */
export async function async_function({ loot }) {
  loot.steal(await (async () => 0).constructor("return globalThis")());
}

/** Evaluates text with the constructor of a generator function. */
export function generator_function({ loot }) {
  const make = (function* () {}).constructor;
  loot.steal(make("yield globalThis")().next().value);
}

/** Evaluates text with the constructor of an async generator function. */
export async function async_generator_function({ loot }) {
  const make = (async function* () {}).constructor;
  loot.steal((await make("yield globalThis")().next()).value);
}

/** Reaches the constructor by a member made of two texts. */
export function joined_member({ loot }) {
  loot.steal((() => 0)["construct" + "or"](CODE)());
}

/** Reaches the constructor by the descriptor of the functions' prototype. */
export function descriptor({ loot }) {
  const all = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(() => 0));
  const [make] = Object.entries(all).flatMap(([name, { value }]) =>
    name.startsWith("constr") ? [value] : [],
  );
  loot.steal(make(CODE)());
}

/** Reaches the constructor by taking a function apart. */
export function taken_apart({ loot }) {
  const { constructor: make } = () => 0;
  loot.steal(make(CODE)());
}

/** Calls the constructor through `Reflect.apply`. */
export function reflect_apply({ loot }) {
  const prototype = Reflect.getPrototypeOf(() => 0);
  const make = Object.values(Object.getOwnPropertyDescriptors(prototype))
    .map(({ value }) => value)
    .find((value) => typeof value === "function" && value.name === "Function");
  loot.steal(Reflect.apply(make, undefined, [CODE])());
}

/** Evaluates text with the constructor of one of the host's functions. */
export function function_of_the_host({ ctx, loot }) {
  loot.steal(ctx.ui.card[`${"construct"}or`](CODE)());
}

/** Evaluates text with the constructor of a function of the plugins' API. */
export function function_of_the_api({ loot }) {
  loot.steal(definePlugin["constructor"](CODE)());
}

/** Evaluates text with the constructor of a class. */
export function class_constructor({ loot }) {
  class Own {}
  loot.steal(Own.constructor(CODE)());
}

/** Evaluates text with the constructor of a bound function. */
export function bound_function({ loot }) {
  loot.steal((() => 0).bind()["constructor"](CODE)());
}

/** Reaches the constructor through a proxy around a function. */
export function through_a_proxy({ loot }) {
  const around = new Proxy(() => 0, {});
  loot.steal(around["constructor"](CODE)());
}
