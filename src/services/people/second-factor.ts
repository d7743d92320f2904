/**
 * The second factor: codes of an authenticator app, and recovery codes for people who have lost it. Each code signs in
 * once.
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
import { whole } from "../whole.ts";
import type { Attempts } from "./attempts.ts";

export interface SecondFactorParts {
  readonly users: UserStore;
  readonly attempts: Attempts;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

type SecondFactorRpcs = Pick<
  ServiceImplementation<typeof SessionService>,
  "beginSecondFactor" | "enableSecondFactor" | "disableSecondFactor"
>;

export function secondFactorRpcs({ users, attempts, clock }: SecondFactorParts): SecondFactorRpcs {
  const self = async ({ userId }: Caller): Promise<UserRow> => {
    const user = await users.find(userId);
    if (!user) throw sessionEnded();
    return user;
  };
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
      await attempts.countUser(caller.userId);
      if (!(await verifyPassword(password, (await self(caller)).password_hash))) throw proofFailed("password");
      const { id, totp_pending: secret } = await self(caller);
      if (secret === null) throw nothingPending();
      const step = matchingStep(secret, code, clock());
      if (step === undefined) throw proofFailed("code");
      const recoveryCodes = Array.from({ length: 10 }, newRecoveryCode);
      const recoveryHashes = recoveryCodes.map(hashRecoveryCode);
      if (!(await users.enableFactor(id, { secret, step, recoveryHashes }))) throw nothingPending();
      return whole(EnableSecondFactorResponseSchema, { recoveryCodes });
    },
    async disableSecondFactor({ request, caller }) {
      const { password = "" } = request.message();
      await attempts.countUser(caller.userId);
      const { id, password_hash } = await self(caller);
      if (!(await verifyPassword(password, password_hash))) throw proofFailed("password");
      await users.disableFactor(id);
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
