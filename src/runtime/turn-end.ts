/**
 * Runs work at the end of a turn of the event loop, when all sockets have been read that had something to read: first what is recorded,
 * then what is sent. So a request goes to its upstream only after it is written down that its call runs, whoever asked first.
 *
 * Work that is added while one of the two runs waits for the next turn, but for records, which no send overtakes. What work throws is an
 * uncaught exception, and keeps no other from running.
 */
type Work = () => void;

let [records, sends]: [Work[], Work[]] = [[], []];
let isScheduled = false;

/** recordAtTurnEnd runs work before anything is sent at the end of this turn. */
export function recordAtTurnEnd(work: Work): void {
  records.push(work);
  schedule();
}

/** sendAtTurnEnd runs work after everything is recorded at the end of this turn. */
export function sendAtTurnEnd(work: Work): void {
  sends.push(work);
  schedule();
}

/** Two immediates, so that what waited for a record goes on between them: it may have something to send, too. */
function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(runRecords);
  setImmediate(runSends);
}

function runRecords(): void {
  const due = records;
  records = [];
  for (const work of due) run(work);
}

function runSends(): void {
  runRecords();
  const due = sends;
  sends = [];
  isScheduled = false;
  for (const work of due) run(work);
  // Records that were added while others ran.
  if (records.length > 0) schedule();
}

function run(work: Work): void {
  try {
    work();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}
