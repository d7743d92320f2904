/** Workers of the test's own process, whose owner is a process that tests kill and start again (`owner-program.ts`). */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import type { Ledger } from "../../../src/ledger/contract.ts";
import type { createLeasedLedger } from "../../../src/ledger/leases/leased-ledger.ts";
import { createLink, type Link } from "../../../src/runtime/ipc/link.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { openStorageOfWorker } from "../../../src/storage/storage-of-owner.ts";
import { temporaryFolder } from "../command.ts";

const program = join(import.meta.dirname, "owner-program.ts");

interface Owner {
  readonly path: string;
  readonly process: ChildProcess;
}

export interface OwnedWorker {
  readonly link: Link;
  readonly storage: Storage;
  readonly ledger: Ledger;
}

export interface OwnedWorkers {
  readonly workers: readonly OwnedWorker[];
  addWorker(hasJournal: boolean, create: typeof createLeasedLedger): Promise<OwnedWorker>;
  /** kill kills the owner. */
  kill(): Promise<void>;
  /** start starts another, whose clock is ahead by `aheadMs`, and has the workers go by it, unless `leads` is false. */
  start(aheadMs?: number, leads?: boolean): Promise<void>;
  /** handOver has the workers take leave of an owner that lives, and go by another. */
  handOver(): Promise<void>;
  /** close ends all, and fails where an owner has told of an error that it may not tell of. */
  close(): Promise<void>;
}

/** ownWorkers starts an owner of a file. `clock` is that of the workers, and `mayTell` matches errors that owners may tell of. */
export async function ownWorkers(
  file: string,
  clock: () => number = Date.now,
  mayTell?: RegExp,
): Promise<OwnedWorkers> {
  const folder = await temporaryFolder();
  const workers: OwnedWorker[] = [];
  const errors: string[] = [];
  let owners = 0;
  let owner = await startOwner();

  async function startOwner(aheadMs = 0): Promise<Owner> {
    const path = join(folder.path, `owner-${++owners}`);
    const child = spawn(process.execPath, [program, file, path, String(aheadMs)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => errors.push(text));
    await once(child.stdout, "data");
    return { path, process: child };
  }

  async function kill({ process: child }: Owner): Promise<void> {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }

  async function lead(link: Link): Promise<void> {
    const socket = connect(owner.path);
    await once(socket, "connect");
    link.connect(socket);
  }

  return {
    workers,
    async addWorker(hasJournal, create) {
      const link = createLink();
      await lead(link);
      const storage = await openStorageOfWorker(file, "process", link);
      const ledger = create({ openBooks: storage.openBooks(hasJournal), clock, onError: () => {} });
      const worker = { link, storage, ledger };
      workers.push(worker);
      return worker;
    },
    kill: () => kill(owner),
    async start(aheadMs, leads = true) {
      owner = await startOwner(aheadMs);
      if (leads) await Promise.all(workers.map(({ link }) => lead(link)));
    },
    async handOver() {
      const before = owner;
      owner = await startOwner();
      for (const { link } of workers) {
        await link.leave();
        await lead(link);
      }
      await kill(before);
    },
    async close() {
      for (const { ledger } of workers) await ledger.close();
      for (const { link, storage } of workers) {
        await link.leave();
        await storage.close();
      }
      await kill(owner);
      await folder.remove();
      const lines = errors.join("").split("\n");
      expect(lines.filter((line) => line !== "" && !mayTell?.test(line))).toEqual([]);
    },
  };
}
