import { Alert } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { RequestError } from '../api/request.ts';
import { Trouble } from './page.tsx';

/** Mistakes of whoever signs in, which the service's message tells; they are no news to an operator. */
const MISTAKES: readonly (string | null)[] = ['sign_in_failed', 'not_signed_in'];

interface SignInTroubleProps {
  readonly error: Error;
  readonly doing?: string;
}

/** What people do wrong is said in their words; the rest is trouble, with the id to give to whoever reads the log. */
export function SignInTrouble({ error, doing = 'Could not sign in' }: SignInTroubleProps) {
  const code = error instanceof RequestError ? error.code : null;
  if (MISTAKES.includes(code)) return <NotSignedIn>{error.message}</NotSignedIn>;
  if (code === 'rate_limit_exceeded') return <NotSignedIn>Too many attempts. Try again in 15 minutes.</NotSignedIn>;
  return <Trouble error={error} doing={doing} />;
}

export function NotSignedIn({ children }: { readonly children: string }) {
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle size={18} />} role="alert">
      {children}
    </Alert>
  );
}
