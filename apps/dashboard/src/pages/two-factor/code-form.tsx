import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { BusyButton } from '../../parts/busy.tsx';
import { SignInTrouble } from '../../parts/sign-in-trouble.tsx';
import { PasswordField } from '../../parts/password-field.tsx';

interface Given {
  readonly code: string;
  /** Empty if not required. */
  readonly password: string;
}

interface CodeFormProps<T> {
  readonly action: string;
  /** What the action does. */
  readonly about: string;
  /** The accepted kinds of codes. */
  readonly codes: string;
  /** The action is destructive. */
  readonly danger?: boolean;
  /** Also asks for the password. */
  readonly withPassword?: boolean;
  readonly send: (given: Given) => Promise<T>;
  readonly onDone: (answer: T) => Promise<void>;
  readonly onCancel: () => void;
  /** Label of the cancel button. */
  readonly cancel?: string;
}

/** Asks for a code of the authenticator app before a change. */
export function CodeForm<T>(props: CodeFormProps<T>) {
  const {
    action,
    about,
    codes,
    danger = false,
    withPassword = false,
    send: give,
    onDone,
    onCancel,
    cancel = 'Cancel',
  } = props;
  const form = useForm({ initialValues: { code: '', password: '' } });
  const apply = useMutation({
    mutationFn: ({ code, password }: Given) => give({ code: code.trim(), password }),
    onSuccess: onDone,
  });
  return (
    <form onSubmit={form.onSubmit((values) => apply.mutate(values))}>
      <Stack maw={360}>
        <Text size="sm">{about}</Text>
        {apply.error !== null && <SignInTrouble error={apply.error} doing="Could not continue" />}
        {withPassword && (
          <PasswordField
            label="Current password"
            autoComplete="current-password"
            required
            autoFocus
            {...form.getInputProps('password')}
          />
        )}
        <TextInput
          label="Code"
          description={codes}
          autoComplete="one-time-code"
          required
          maxLength={40}
          autoFocus={!withPassword}
          {...form.getInputProps('code')}
        />
        <Group>
          <BusyButton type="submit" {...(danger && { color: 'red.8' })} busy={apply.isPending}>
            {action}
          </BusyButton>
          <Button variant="default" onClick={onCancel}>
            {cancel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
