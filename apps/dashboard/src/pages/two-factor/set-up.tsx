import { Anchor, Code, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { encode } from 'uqr';
import { send } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import { CopyIconButton } from '../../parts/copy.tsx';
import { Rows, Trouble } from '../../parts/page.tsx';
import { CodeForm } from './code-form.tsx';

interface SetUpProps {
  readonly onDone: (recoveryCodes: readonly string[]) => Promise<void>;
  readonly onCancel: () => void;
  /** Label of the cancel button. */
  readonly cancel?: string;
}

/** A new secret for the app, in effect once a code is entered. */
export function SetUp({ onDone, onCancel, cancel = 'Cancel' }: SetUpProps) {
  const { data: app, error } = useQuery({
    // Not below the key of the state: refreshing that would create a new secret here.
    queryKey: ['new-authenticator'],
    queryFn: () => send<Schema['AuthenticatorView']>('POST', '/two-factor'),
    gcTime: 0,
    staleTime: Infinity,
    retry: false,
  });
  if (error !== null) return <Trouble error={error} doing="Could not set up two-factor authentication" />;
  if (app === undefined) return <Rows count={2} />;
  return (
    <>
      <Text size="sm">1. Scan this code with your authenticator app, or enter the setup key.</Text>
      <QrCode text={app.uri} />
      <Text size="sm" component="div">
        Setup key: <Code data-testid="totp-secret">{app.secret.match(/.{4}/g)?.join(' ')}</Code>{' '}
        <CopyIconButton value={app.secret} label="Copy setup key" />
      </Text>
      <Anchor href={app.uri} size="sm" underline="always" hiddenFrom="sm">
        Open in an authenticator app on this phone
      </Anchor>
      <CodeForm
        action="Turn on"
        about="2. Enter the code that the app shows."
        codes="Six digits"
        send={({ code }) => send<Schema['RecoveryCodesView']>('POST', '/two-factor/confirm', { code })}
        onDone={({ recovery_codes: codes }) => onDone(codes)}
        onCancel={onCancel}
        cancel={cancel}
      />
    </>
  );
}

/** Rendered here, so that the secret goes to no other service. */
function QrCode({ text }: { readonly text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      width={192}
      height={192}
      role="img"
      aria-label="QR code for your authenticator app"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
