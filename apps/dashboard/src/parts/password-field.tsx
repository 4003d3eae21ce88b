import { PasswordInput } from '@mantine/core';
import { useState, type ComponentProps } from 'react';

interface PasswordFieldProps extends ComponentProps<typeof PasswordInput> {
  /** What is hidden: a password, if not given. */
  readonly of?: string;
}

/** A field for a secret, whose button says what it does next. */
export function PasswordField({ of = 'password', ...props }: PasswordFieldProps) {
  const [visible, setVisible] = useState(false);
  return (
    <PasswordInput
      visible={visible}
      onVisibilityChange={setVisible}
      visibilityToggleButtonProps={{
        'aria-label': `${visible ? 'Hide' : 'Show'} ${of}`,
        'aria-pressed': undefined,
      }}
      {...props}
    />
  );
}
