import assert from "node:assert/strict";
import { LockFile } from "../../../services/node/store/data_dir.ts";
import { withFolder } from "../../support/files.ts";
import { nextTurn } from "../../support/next_turn.ts";

const PROGRAMS = 100;

/** Starts programs one after the other in a thread of its own; reports when it begins and ends. */
const STARTER = `data:text/javascript,
  postMessage("begun");
  for (let at = 0; at < ${PROGRAMS}; at++) await new Deno.Command("true").output();
  postMessage("ended");
`;

Deno.test("LockFile: a second lock is refused until the first is closed", () =>
  withFolder((folder) => {
    const first = LockFile.lock(folder);
    assert.throws(() => LockFile.lock(folder), {
      message: `Another node has ${folder} open: stop it first`,
    });
    first.close();
    LockFile.lock(folder).close();
    return Promise.resolve();
  }));

// A program that is being started has a copy of every open file for a moment.
Deno.test("LockFile: a closed lock is free at once, even while other threads start programs", () =>
  withFolder(async (folder) => {
    const starter = new Worker(STARTER, { type: "module" });
    const begun = Promise.withResolvers<void>();
    let isOver = false;
    starter.onmessage = ({ data }) => {
      begun.resolve();
      isOver = data === "ended";
    };
    await begun.promise;
    while (!isOver) {
      for (let count = 0; count < 100; count++) LockFile.lock(folder).close();
      await nextTurn();
    }
    starter.terminate();
  }));
