/**
 * The second factor: codes of an authenticator app, and recovery codes for people who have lost it. Each code signs in
 * once. Whoever switches it on or off ends all other sessions of the user: they were begun by other proofs than are asked for now.
 *
 * Source: RFC 6238, with SHA-1, six digits and 30 seconds, which every app supports. The clocks may differ by one time
 * step.
 */
import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import {
  BeginSecondFactorResponseSchema,
  DisableSecondFactorResponseSchema,
  EnableSecondFactorResponseSchema,
  type SessionService,
} from "../../../gen/modelgateway/v1/sessions_pb.ts";
import type { Caller, ServiceImplementation } from "../../call/call.ts";
import { conflict, proofFailed, sessionEnded } from "../../call/refusals.ts";
import { hashToken, verifyPassword } from "../../runtime/secrets.ts";
import type { UserRow, UserStore } from "../../storage/people/users.ts";
import type { Storage } from "../../storage/storage.ts";
import { whole } from "../whole.ts";
import type { Attempts } from "./attempts.ts";
import { requireSession } from "./unchanged-user.ts";

export interface SecondFactorParts {
  readonly storage: Pick<Storage, "users" | "transact">;
  readonly attempts: Attempts;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

type SecondFactorRpcs = Pick<
  ServiceImplementation<typeof SessionService>,
  "beginSecondFactor" | "enableSecondFactor" | "disableSecondFactor"
>;

export function secondFactorRpcs({ storage, attempts, clock }: SecondFactorParts): SecondFactorRpcs {
  const { users, transact } = storage;
  const self = async ({ userId }: Caller): Promise<UserRow> => {
    const user = await users.find(userId);
    if (!user) throw sessionEnded();
    return user;
  };
  /** Returns the current user if the password is right. */
  const proved = async (caller: Caller, password: string): Promise<UserRow> => {
    await attempts.countUser(caller.userId);
    const user = await self(caller);
    if (!(await verifyPassword(password, user.password_hash))) throw proofFailed("password");
    return user;
  };
  /** Changes the factor and ends the user's other sessions, unless this one has ended meanwhile. */
  const changeFactor = (user: UserRow, caller: Caller, change: (users: UserStore) => Promise<void>) =>
    transact(async (stores) => {
      await requireSession(stores, user, caller, clock());
      await change(stores.users);
      await stores.sessions.revokeAll(user.id, caller.sessionId);
    });
  return {
    async beginSecondFactor({ caller }) {
      const { id, email } = await self(caller);
      const secret = new Secret({ size: 20 }).base32;
      // A stolen session must not replace the user's app with another.
      if (!(await users.setPendingFactor(id, secret))) throw conflict("SECOND_FACTOR_ENABLED");
      return whole(BeginSecondFactorResponseSchema, { secret, uri: appOf(secret, email).toString() });
    },
    async enableSecondFactor({ request, caller }) {
      const { code = "", password = "" } = request.message();
      const user = await proved(caller, password);
      const { id, totp_pending: secret } = user;
      if (secret === null) throw nothingPending();
      const step = matchingStep(secret, code, clock());
      if (step === undefined) throw proofFailed("code");
      const recoveryCodes = Array.from({ length: 10 }, newRecoveryCode);
      const recoveryHashes = recoveryCodes.map(hashRecoveryCode);
      await changeFactor(user, caller, async (users) => {
        if (!(await users.enableFactor(id, { secret, step, recoveryHashes }))) throw nothingPending();
      });
      return whole(EnableSecondFactorResponseSchema, { recoveryCodes });
    },
    async disableSecondFactor({ request, caller }) {
      const { password = "" } = request.message();
      const user = await proved(caller, password);
      await changeFactor(user, caller, (users) => users.disableFactor(user.id));
      return whole(DisableSecondFactorResponseSchema, {});
    },
  };
}

/** verifySecondFactor uses up a code of the app or a recovery code, and returns whether it was valid. */
export async function verifySecondFactor(users: UserStore, user: UserRow, code: string, now: number): Promise<boolean> {
  if (user.totp_secret === null) return false;
  const step = matchingStep(user.totp_secret, code, now);
  if (step !== undefined) return users.useStep(user.id, step);
  return users.useRecoveryCode(user.id, hashRecoveryCode(code));
}

const period = 30;

function appOf(secret: string, email: string): TOTP {
  const form = { algorithm: "SHA1", digits: 6, period };
  return new TOTP({ issuer: "model-gateway", label: email, secret: Secret.fromBase32(secret), ...form });
}

/**
 * matchingStep returns the time step that the code belongs to, among the neighbouring ones; undefined if none matches.
 */
function matchingStep(secret: string, code: string, now: number): number | undefined {
  const token = code.replace(/\s/g, "");
  // The library throws on other characters.
  if (!/^\d{6}$/.test(token)) return undefined;
  const delta = appOf(secret, "").validate({ token, timestamp: now, window: 1 });
  return delta === null ? undefined : TOTP.counter({ period, timestamp: now }) + delta;
}

/** alphabet is Crockford's base 32 in lower case: no letter looks like a digit. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** newRecoveryCode returns 80 random bits in a form that people can write down: `xxxx-xxxx-xxxx-xxxx`. */
function newRecoveryCode(): string {
  const letters = Array.from(randomBytes(16), (byte) => alphabet[byte & 31]).join("");
  return letters.replace(/.{4}(?!$)/g, "$&-");
}

/** hashRecoveryCode returns the stored hash of a recovery code, whatever its case and separators. */
function hashRecoveryCode(text: string): string {
  const normal = text.toLowerCase().replace(/[\s-]/g, "").replaceAll("o", "0").replace(/[il]/g, "1");
  return hashToken(normal);
}

function nothingPending() {
  return conflict("SECOND_FACTOR_NOT_BEGUN");
}
