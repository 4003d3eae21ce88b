import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { send } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import type { Session } from '../../api/types.ts';

type Options = Schema['PasskeyOptionsView'];

/**
 * Signs in with a passkey of the browser. Throws RequestError, or a readable Error when there is no passkey or the user
 * cancels.
 */
export async function signInWithPasskey(): Promise<Session> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const { options } = await send<Options>('POST', '/sign-in/passkey/options');
  const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  const response = await inWords(startAuthentication({ optionsJSON }));
  return await send<Session>('POST', '/sign-in/passkey', { response });
}

/** Lets the browser create a passkey. Throws like `signInWithPasskey`. */
export async function addPasskey(name: string, password: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const { options } = await send<Options>('POST', '/passkeys/options', { password });
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const response = await inWords(startRegistration({ optionsJSON }));
  await send('POST', '/passkeys', { name, response });
}

/** Browsers hide the reason of a failure from pages, to protect their users' privacy. */
async function inWords<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    const words =
      name === 'InvalidStateError'
        ? 'This device already has a passkey for your account.'
        : 'No passkey was used: the request was canceled, timed out, or isn’t supported by this device.';
    throw new Error(words, { cause: error });
  }
}
