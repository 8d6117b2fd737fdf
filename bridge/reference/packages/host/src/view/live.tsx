/** @jsx h */
import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Announcer } from "../model/announcer.js";

/** What screen readers announce; there from the start, so that they watch it. */
export function LiveRegions({ announcer }: { readonly announcer: Announcer }) {
  const polite = useRef<HTMLDivElement>(null);
  const urgent = useRef<HTMLDivElement>(null);
  useEffect(
    () =>
      announcer.announced.listen((announcement) => {
        const region = announcement.urgent ? urgent.current : polite.current;
        if (region !== null) {
          // The same words again are announced only when the text differs.
          const same = region.textContent === announcement.words;
          region.textContent = same ? `${announcement.words}\u00a0` : announcement.words;
        }
      }),
    [],
  );
  return (
    <div class="hidden">
      <div id="live-polite" role="status" ref={polite} />
      <div id="live-urgent" role="alert" ref={urgent} />
    </div>
  );
}
