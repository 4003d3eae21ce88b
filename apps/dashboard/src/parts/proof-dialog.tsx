import { PasswordInput, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { onProofRequired, send } from '../api/request.ts';
import { FormDialog } from './form-dialog.tsx';

/** Asks for the password when a change needs a fresh proof, and lets the change go on. */
export function ProofDialog() {
  const answer = useRef<((isProven: boolean) => void) | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [password, setPassword] = useState('');
  const close = (isProven: boolean): void => {
    setOpen(false);
    setPassword('');
    answer.current?.(isProven);
    answer.current = null;
  };
  const prove = useMutation({
    mutationFn: async () => await send<undefined>('POST', '/session/proof', { password }),
    onSuccess: () => close(true),
  });
  const { reset } = prove;
  useEffect(() => {
    onProofRequired(() => {
      reset();
      setOpen(true);
      return new Promise((resolve) => {
        // Of two changes at once, the earlier one ends.
        answer.current?.(false);
        answer.current = resolve;
      });
    });
    return () => onProofRequired(undefined);
  }, [reset]);
  if (!isOpen) return null;
  return (
    <FormDialog
      title="Confirm that it’s you"
      action="Confirm"
      save={prove}
      doing="Could not confirm your password"
      onSubmit={() => prove.mutate()}
      onClose={() => close(false)}
    >
      <Text size="sm">You signed in a while ago. Enter your password to change how you sign in.</Text>
      <PasswordInput
        label="Password"
        autoComplete="current-password"
        required
        data-autofocus
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
