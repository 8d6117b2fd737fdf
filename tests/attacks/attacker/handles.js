import { put } from "./common/replacing.js";

const { apply } = Reflect;

/** Shows a table, and takes a cell's element from a replaced `Array.prototype.map`. */
export function cell_from_map({ card, loot }) {
  const { map } = Array.prototype;
  const spying = function () {
    const result = apply(map, this, arguments);
    stealFrom(loot, result[0]);
    return result;
  };
  return withTable(card, put(Array.prototype, "map", { value: spying, writable: true }));
}

/** Shows a table, and takes a cell's element from a replaced iterator of arrays. */
export function cell_from_an_iterator({ card, loot }) {
  const steps = Object.getPrototypeOf([][Symbol.iterator]());
  const { next } = steps;
  const spying = function () {
    const step = apply(next, this, arguments);
    stealFrom(loot, step.value);
    return step;
  };
  return withTable(card, put(steps, "next", { value: spying, writable: true }));
}

function withTable(card, undo) {
  const table = card.table("Table", ["Column"]);
  table.setRows([["1"], ["2"]]);
  table.remove();
  return undo;
}

function stealFrom(loot, value) {
  const page = value?.["owner" + "Document"]?.["default" + "View"];
  if (page) {
    loot.steal(page);
  }
}
