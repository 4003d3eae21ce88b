import { Alert } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { RequestError } from '../api/request.ts';
import { Trouble } from './page.tsx';

/** Mistakes of users, which the service's message explains; operators need no request id for them. */
const MISTAKES: readonly (string | null)[] = ['sign_in_failed', 'not_signed_in'];

interface SignInTroubleProps {
  readonly error: Error;
  readonly doing?: string;
}

/** User mistakes are shown with the service's message; anything else with the request id for the operator. */
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
