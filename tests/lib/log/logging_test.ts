import assert from "node:assert/strict";
import { reset } from "@logtape/logtape";
import { configureLogging, type LoggingOptions, serviceLog } from "../../../lib/log/logging.ts";

async function logged(options: Partial<LoggingOptions>, write: () => void): Promise<string[]> {
  const lines: string[] = [];
  const original = console.error;
  console.error = (...parts: unknown[]) => void lines.push(parts.join(" "));
  try {
    await configureLogging({ jsonLogs: false, logLevel: "info", color: false, ...options });
    write();
  } finally {
    console.error = original;
    await reset();
  }
  return lines;
}

const log = serviceLog("sample");

Deno.test("configureLogging: text shows values without quotes", async () => {
  const [line] = await logged({}, () => log.info("Listening on {url}", { url: "http://x:1" }));
  assert.match(line ?? "", /\[INF\] rangemaker·sample: Listening on http:\/\/x:1$/);
});

Deno.test("configureLogging: values cannot add a line or terminal control characters", async () => {
  const path = "/x\n2026-01-01 [ERR] rangemaker: forged \x1b[2J";
  const lines = await logged({}, () => log.info("GET {path}", { path }));
  assert.equal(lines.length, 1);
  assert(!lines[0]?.includes("\n") && !lines[0]?.includes("\x1b"), lines[0]);
});

Deno.test("configureLogging: a JSON line has stable fields, and values in its message are not quoted", async () => {
  const [line] = await logged({ jsonLogs: true }, () => {
    const fields = { event: "thesis_settled", user: "0xabc", thesisId: 7, result: "won" };
    log.info("Thesis {thesisId} of {user} is {result}", fields);
  });
  const { "@timestamp": time, ...record } = JSON.parse(line ?? "");
  assert.match(time, /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(record, {
    level: "INFO",
    message: "Thesis 7 of 0xabc is won",
    logger: "rangemaker.sample",
    event: "thesis_settled",
    user: "0xabc",
    thesisId: 7,
    result: "won",
  });
});

Deno.test("configureLogging: records below the level are not written", async () => {
  const lines = await logged({ logLevel: "warning" }, () => {
    log.info("quiet");
    log.error("loud");
  });
  assert.equal(lines.length, 1);
});

for (const options of [{}, { color: true }, { jsonLogs: true }]) {
  Deno.test(`configureLogging: passwords and keys of URLs are not written, ${JSON.stringify(options)}`, async () => {
    const [line = ""] = await logged(options, () => {
      log.warn("No connection to {url}: {reason}", {
        url: "wss://user:SECRET@node.example/v3/SECRET90123456789012?key=SECRET",
        reason: "sending to https://node.example/?key=SECRET failed",
      });
    });
    assert(line.includes("node.example") && line.includes("failed"), line);
    assert(!line.includes("SECRET"), line);
    if (options.jsonLogs) JSON.parse(line);
  });
}
