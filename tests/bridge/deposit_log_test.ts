import assert from "node:assert/strict";
import { DepositLog } from "../../services/bridge/deposit_log.ts";
import { withLogs } from "../support/recorded_logs.ts";

Deno.test("DepositLog: a node that is lost and one that is back are a line each, not one per attempt", () =>
  withLogs("info", (records) => {
    const log = new DepositLog("http://user:SECRET@node");
    for (const isLost of [false, true, true, false, false, true]) log.attempted(isLost);
    assert.deepEqual(
      records.map(({ level, properties }) => [level, properties.event, properties.url]),
      ["warning node_lost", "info node_back", "warning node_lost"].map((line) => [
        ...line.split(" "),
        "http://…@node",
      ]),
    );
    return Promise.resolve();
  }));
