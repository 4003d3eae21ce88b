import { Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { RequestError, send } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import { isHalfway, type Session } from '../../api/types.ts';
import { BusyButton } from '../../parts/busy.tsx';
import { NewPassword, newPasswordProblem, refusedPassword } from '../../parts/new-password.tsx';
import { Trouble } from '../../parts/page.tsx';
import { useEnter } from './outside.tsx';

/** What a link is for. */
export interface LinkUse {
  readonly purpose: Schema['CheckLinkBody']['purpose'];
  /** API path that redeems the link. */
  readonly path: string;
  /** What the user enters besides the password. */
  readonly fields: readonly ('name' | 'email')[];
  readonly action: string;
}

interface LinkPasswordProps extends LinkUse {
  readonly token: string;
  /** The email address of an existing user. */
  readonly email: string | null;
  /** The primary action of its page. */
  readonly main: boolean;
  /** The password is saved, and a code is required to sign in. */
  readonly onHalfway: () => void;
  /** The link no longer works. */
  readonly onGone: (error: RequestError) => void;
}

/** Redeems a link with a new password, and signs in. */
export function LinkPassword(props: LinkPasswordProps) {
  const { purpose, path, fields, action, token, email, main, onHalfway, onGone } = props;
  const enter = useEnter();
  const form = useForm({
    initialValues: { name: '', email: '', password: '' },
    validate: {
      password: newPasswordProblem,
    },
  });
  const redeem = useMutation({
    mutationFn: ({ password, ...values }: typeof form.values) =>
      send<Session | Schema['SecondStepView']>('POST', path, {
        token,
        password,
        ...Object.fromEntries(fields.map((field) => [field, values[field]])),
      }),
    onSuccess: async (answer) => {
      if (isHalfway(answer)) onHalfway();
      else await enter(answer);
    },
    onError: (failure) => {
      if (isGone(failure)) onGone(failure);
      else form.setFieldError('password', refusedPassword(failure));
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => redeem.mutate(values))}>
      <Stack>
        {redeem.error !== null && refusedPassword(redeem.error) === null && (
          <Trouble error={redeem.error} doing="Could not continue" />
        )}
        {fields.includes('name') && (
          <TextInput
            label="Your name"
            autoComplete="name"
            required
            // The only thing to do on this page.
            autoFocus={purpose === 'first_admin'}
            {...form.getInputProps('name')}
          />
        )}
        {fields.includes('email') && (
          <TextInput label="Email" type="email" autoComplete="username" required {...form.getInputProps('email')} />
        )}
        {email !== null && (
          <TextInput
            label="Email"
            description="You sign in with this address"
            variant="filled"
            autoComplete="username"
            readOnly
            value={email}
          />
        )}
        <NewPassword
          label={purpose === 'password' ? 'New password' : 'Password'}
          personal={[form.values.name, email ?? form.values.email]}
          {...form.getInputProps('password')}
        />
        <BusyButton type="submit" variant={main ? 'filled' : 'default'} busy={redeem.isPending} fullWidth mt="xs">
          {action}
        </BusyButton>
      </Stack>
    </form>
  );
}

/** Whether the API says that a link no longer works. */
export function isGone(error: Error | null): error is RequestError {
  return error instanceof RequestError && error.status === 410;
}
