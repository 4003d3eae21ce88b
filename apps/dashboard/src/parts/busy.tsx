import { Button, type ButtonProps } from '@mantine/core';
import type { ComponentPropsWithoutRef, ComponentPropsWithRef } from 'react';

/** Props of a busy button; its `onClick` or form has to ignore further clicks. */
interface Busy {
  readonly loading: boolean;
  readonly 'aria-disabled': boolean;
  readonly renderRoot: (props: ComponentPropsWithRef<'button'>) => React.ReactNode;
}

/** For a button whose action is running. A disabled button would lose the focus; this one only looks disabled. */
export function whileBusy(busy: boolean, disabled = false): Busy {
  return {
    loading: busy,
    'aria-disabled': busy || disabled,
    renderRoot: (props) => <button {...props} disabled={disabled && !busy} />,
  };
}

interface BusyButtonProps
  extends Omit<ButtonProps, 'loading'>, Omit<ComponentPropsWithoutRef<'button'>, keyof ButtonProps> {
  readonly busy: boolean;
}

/** A button that keeps the focus while its action runs, and ignores clicks and submits in the meantime. */
export function BusyButton({ busy, disabled = false, onClick, ...props }: BusyButtonProps) {
  return (
    <Button
      {...props}
      {...whileBusy(busy, disabled)}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
