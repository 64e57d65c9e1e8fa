import assert from "node:assert/strict";
import { progressBar, progressOn } from "../../../lib/cli/progress.ts";

/** What is written to a terminal, or to what is none. */
function drawn(isTerminal: boolean, columns: number, ...texts: string[]): string {
  let written = "";
  const show = progressOn({
    isTerminal: () => isTerminal,
    writeSync: (bytes) => (written += new TextDecoder().decode(bytes), bytes.length),
  }, () => columns);
  texts.forEach(show);
  return written;
}

Deno.test("progressOn: draws over the line before, and takes it away", () => {
  assert.equal(drawn(true, 80, "longer", "short", ""), "\rlonger\rshort \r     \r");
});

Deno.test("progressOn: an empty text where nothing is drawn writes nothing", () => {
  assert.equal(drawn(true, 80, "", ""), "");
  assert.equal(drawn(true, 80, "same", "same"), "\rsame");
  assert.equal(drawn(true, 5, "same one", "same two"), "\rsame");
});

Deno.test("progressOn: never as wide as the terminal, where a line would wrap", () => {
  assert.equal(drawn(true, 5, "longer"), "\rlong");
  assert.equal(drawn(true, 0, "no width known"), "\rno width known");
});

Deno.test("progressOn: writes nothing where there is no terminal", () => {
  assert.equal(drawn(false, 80, "line", ""), "");
});

Deno.test("progressBar: draws what is done of the total", () => {
  assert.equal(progressBar(0, 10, "slots"), `${"░".repeat(40)} 0 % of 10 slots`);
  assert.equal(progressBar(5, 10, "slots"), `${"█".repeat(20)}${"░".repeat(20)} 50 % of 10 slots`);
  assert.equal(progressBar(0, 0, "slots"), `${"█".repeat(40)} 100 % of 0 slots`);
});
