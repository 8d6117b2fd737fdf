import { PermissionError, definePlugin } from "@bridge/plugin-api";

const TICK_MILLISECONDS = 10;
const WRITTEN_EVERY = 4;

/** Works with a secret of its own, as honest plugins do. */
export default definePlugin({
  id: "victim",
  activate(ctx) {
    const card = ctx.ui.card("Victim");
    const secret = ctx.settings.get("secret", "");
    const kept = card.text("");
    const rounds = card.text("");
    let round = 0;
    setInterval(() => {
      if (round % WRITTEN_EVERY === 0) {
        ctx.settings.set("copy", secret).catch(() => undefined);
      }
      ctx.settings.get("secret", "");
      compute(secret);
      void wait(secret);
      kept.set(secret);
      round += 1;
      rounds.set(` round ${round}`);
    }, TICK_MILLISECONDS);
  },
});

function compute(secret: string): unknown[] {
  const record = { key: secret };
  const parts = [secret, ...secret.split("-")];
  const bytes = new TextEncoder().encode(secret);
  const map = new Map([["key", secret]]);
  const set = new Set([secret]);
  const url = new URL(`https://example.org/?key=${secret}`);
  const names = function* () {
    yield secret;
  };
  const found: unknown[] = [];
  found.push(secret, parts.map((part) => part.trim()), [...names()], [...set]);
  found.push(parts.join("+"), parts.includes(secret), parts.filter(Boolean), parts.slice(1));
  found.push(JSON.parse(JSON.stringify(record)), Object.entries(record), Object.assign({}, record));
  found.push(map.get("key"), set.has(secret), url.searchParams.get("key"));
  found.push(secret.replace(/-/, "+"), /secret/.test(secret), secret.startsWith("secret"));
  found.push(new TextDecoder().decode(bytes.map((byte) => byte)), Array.from(secret));
  found.push(compute.call.call(identity, undefined, secret), identity.apply(undefined, [secret]));
  found.push(identity.bind(undefined, secret)(), structuredClone(record), Object.keys(record));
  found.push(String(new PermissionError(secret)), new Error(secret).stack, btoa(secret));
  found.push(parts.reduce((all, part) => all + part, ""), parts.concat(secret), parts.at(0));
  found.push(Reflect.get(record, "key"), Object.values(record), secret.concat("."));
  found.push(new Intl.Collator().compare(secret, "a"), [...secret.matchAll(/\w+/g)]);
  for (const part of parts) {
    found.push(part);
  }
  return found;
}

async function wait(secret: string): Promise<void> {
  const record = { key: secret };
  await Promise.resolve(record).then(identity);
  await Promise.all([secret]);
  for await (const each of later(secret)) {
    identity(each);
  }
}

async function* later(secret: string): AsyncGenerator<string> {
  yield secret;
}

function identity<T>(value: T): T {
  return value;
}
