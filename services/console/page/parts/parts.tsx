import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface CardProps extends Record<`data-${string}`, unknown> {
  title: ComponentChildren;
  /** Text beside the heading. */
  note?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of a view with a heading. */
export function Card({ title, note, children, ...data }: CardProps) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id} {...data}>
      <div class="row">
        <h2 id={id}>{title}</h2>
        {note && <span class="note">{note}</span>}
      </div>
      {children}
    </section>
  );
}

/** A term and its value in a list of facts. */
export function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A text after a sign, such as ✓ or ●, that is not spoken. */
export function Signed({ sign, text }: { sign: string; text: string }) {
  return (
    <>
      <span aria-hidden="true">{sign}</span> {text}
    </>
  );
}

/** A text whose parts in backticks are code. */
export function Words({ text }: { text: string }) {
  return (
    <>{text.split("`").map((part, index) => index % 2 ? <code key={index}>{part}</code> : part)}</>
  );
}

/** Asks for permission to notify, only when pressed. */
export function NotifyButton({ announce }: { announce(text: string): void }) {
  const state = useSignal("Notification" in globalThis ? Notification.permission : "denied");
  if (state.value !== "default") return null;
  const ask = async ({ currentTarget: button }: { currentTarget: HTMLButtonElement }) => {
    const next = button.nextElementSibling ?? button.previousElementSibling;
    const permission = canNotify() && await Notification.requestPermission();
    if (permission !== "granted") {
      return void announce(
        "The browser does not allow notifications: everything is shown on this page.",
      );
    }
    // The button disappears, so its focus moves on.
    if (document.activeElement === button && next instanceof HTMLElement) next.focus();
    state.value = permission;
    announce("You will be notified when a bet ends and this page is hidden.");
  };
  return <button type="button" onClick={ask}>Notify me when a bet ends</button>;
}

/** Chrome on Android has the class, and lets no page use it. Without permission, nothing is shown. */
function canNotify(): boolean {
  try {
    new Notification("");
    return true;
  } catch {
    return false;
  }
}

/** Downloads text as a file of bets. */
export function download(text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = "bets.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}
