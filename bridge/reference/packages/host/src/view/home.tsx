/** @jsx h */
import { h } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { fragmentOf } from "../model/route.js";
import type { ViewProps } from "./app.js";
import { ButtonLink, Title } from "./parts.js";

/** The cards of the plugins; always there, as plugins keep changing them. */
export function HomeView({ model, shown }: ViewProps & { readonly shown: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    place.current?.append(model.cards.element);
  }, []);
  const empty = model.cards.element.querySelector(".plugin-card") === null;
  return (
    <section id="home" hidden={!shown} class="stack">
      {shown ? <Title>Home</Title> : null}
      {empty ? (
        <div class="stack">
          <p class="empty">No plugin shows anything here yet.</p>
          <div class="actions">
            <ButtonLink href={fragmentOf({ view: "plugins" })}>See the plugins</ButtonLink>
          </div>
        </div>
      ) : null}
      <div ref={place} />
    </section>
  );
}
