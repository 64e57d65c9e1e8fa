/** A service that ran out of file descriptors. */
import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { Program } from "../support/process.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;

/** Enough for the program itself. */
const DESCRIPTORS = 150;

Deno.test("A service without file descriptors left says so, and serves again when there are some", async () => {
  const line = `ulimit -n ${DESCRIPTORS}; exec '${Deno.execPath()}' run -A '${main}' "$0" "$@"`;
  const program = new Program(["exchanges", "--port", "0"], {}, {
    command: "bash",
    args: ["-c", line],
  });
  const listening = /Listening on http:\/\/127\.0\.0\.1:(\d+)/;
  await program.until(({ stderr }) => listening.test(stderr));
  const port = Number(listening.exec(program.stderr)?.[1]);
  const attempts = await Promise.allSettled(
    Array.from({ length: DESCRIPTORS }, () => Deno.connect({ hostname: "127.0.0.1", port })),
  );
  await program.until(({ stderr }) => stderr.includes("Listening failed, reopening"));
  for (const attempt of attempts) if (attempt.status === "fulfilled") attempt.value.close();
  await eventually("it serves again", async () => {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok || undefined;
  });
  program.kill("SIGTERM");
  assert.equal((await program.finished()).code, 0);
});
