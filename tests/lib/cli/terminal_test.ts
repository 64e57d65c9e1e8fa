import assert from "node:assert/strict";
import { askSecret, printable, progressBar, progressOn } from "../../../lib/cli/terminal.ts";

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
    screen: { writeSync: (bytes: Uint8Array) => shown.push(new TextDecoder().decode(bytes)) },
  };
}

Deno.test("askSecret: reads up to Enter, shows only the question, and restores the terminal", async () => {
  const { keyboard, screen, shown, raw } = terminal("pä", "x\x7fss", "\rmore");
  assert.equal(await askSecret("Password: ", keyboard, screen), "päss");
  assert.deepEqual(shown, ["Password: ", "\n"]);
  assert.deepEqual(raw, [true, false]);
});

Deno.test("askSecret: the terminal echoes nothing from before the question is shown", async () => {
  const { keyboard, screen, shown, raw } = terminal("\r");
  let shownWhenRaw: string[] | undefined;
  const setRaw = (on: boolean) => {
    shownWhenRaw ??= [...shown];
    keyboard.setRaw(on);
  };
  await askSecret("Password: ", { ...keyboard, setRaw }, screen);
  assert.deepEqual([shownWhenRaw, raw], [[], [true, false]], "the question comes after");
});

Deno.test("askSecret: Ctrl-C, Ctrl-D and the end of input cancel", async () => {
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

Deno.test("progressOn: a text replaces the one before, cut to the width of the terminal, and is written once", () => {
  const cases: [isTerminal: boolean, columns: number, texts: string[], written: string][] = [
    [true, 80, ["longer", "short", ""], "\rlonger\rshort \r     \r"],
    [true, 80, ["", ""], ""],
    [true, 80, ["same", "same"], "\rsame"],
    [true, 5, ["same one", "same two"], "\rsame"],
    [true, 5, ["longer"], "\rlong"],
    [true, 0, ["no width known"], "\rno width known"],
    [false, 80, ["line", ""], ""],
  ];
  for (const [isTerminal, columns, texts, expected] of cases) {
    let written = "";
    const show = progressOn({
      isTerminal: () => isTerminal,
      writeSync: (bytes) => (written += new TextDecoder().decode(bytes), bytes.length),
    }, () => columns);
    texts.forEach(show);
    assert.equal(written, expected);
  }
});

Deno.test("progressBar: is filled in proportion, and full if the total is 0", () => {
  assert.equal(progressBar(0, 10, "slots"), `${"░".repeat(40)} 0 % of 10 slots`);
  assert.equal(progressBar(5, 10, "slots"), `${"█".repeat(20)}${"░".repeat(20)} 50 % of 10 slots`);
  assert.equal(progressBar(0, 0, "slots"), `${"█".repeat(40)} 100 % of 0 slots`);
});

Deno.test("printable: control characters are escaped, except ends of lines, tabs and colours", () => {
  const kept = "two\n\tlines, \x1b[31mred\x1b[0m, ä € ░";
  assert.equal(printable(kept), kept);
  assert.equal(
    printable("\x1b]0;title\x07\r\x1b[2J\x9b31m\x7f\x00[31m"),
    "\\u001b]0;title\\u0007\\u000d\\u001b[2J\\u009b31m\\u007f\\u0000[31m",
  );
});
