import assert from "node:assert/strict";
import { askSecret } from "../../../lib/cli/ask_secret.ts";

/** A terminal on which keys are typed, and what it shows. */
function terminal(...typed: string[]) {
  const raw: boolean[] = [];
  const shown: string[] = [];
  return {
    raw,
    shown,
    keyboard: {
      isTerminal: () => true,
      setRaw: (on: boolean) => void raw.push(on),
      read(buffer: Uint8Array) {
        const text = typed.shift();
        if (text === undefined) return Promise.resolve(null);
        return Promise.resolve(new TextEncoder().encodeInto(text, buffer).written);
      },
    },
    screen: {
      writeSync: (bytes: Uint8Array) => shown.push(new TextDecoder().decode(bytes)),
    },
  };
}

Deno.test("askSecret: reads up to Enter, shows the question only, and leaves the terminal as it was", async () => {
  const { keyboard, screen, shown, raw } = terminal("pä", "x\x7fss", "\rmore");
  assert.equal(await askSecret("Password: ", keyboard, screen), "päss");
  assert.deepEqual(shown, ["Password: ", "\n"]);
  assert.deepEqual(raw, [true, false]);
});

Deno.test("askSecret: Ctrl-C, Ctrl-D and the end of input give up", async () => {
  for (const keys of [["ab\x03"], ["\x04"], ["ab"]]) {
    const { keyboard, screen, raw } = terminal(...keys);
    await assert.rejects(askSecret("?", keyboard, screen), /^UsageError: Cancelled$/);
    assert.deepEqual(raw, [true, false]);
  }
});

Deno.test("askSecret: without a terminal it names the option", async () => {
  const { keyboard, screen } = terminal();
  await assert.rejects(
    askSecret("?", { ...keyboard, isTerminal: () => false }, screen),
    /^UsageError: Missing --keystore-password-file: there is no terminal to ask on$/,
  );
});
