import { Button, type ButtonProps } from '@mantine/core';
import type { ComponentPropsWithoutRef, ComponentPropsWithRef } from 'react';

/** A button at work: its `onClick` or the form has to leave further clicks out. */
interface Busy {
  readonly loading: boolean;
  readonly 'aria-disabled': boolean;
  readonly renderRoot: (props: ComponentPropsWithRef<'button'>) => React.ReactNode;
}

/**
 * For a button that is busy with what it was pressed for. A disabled one would lose the focus to the body; this one looks
 * the same and keeps it.
 */
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

/** A button that keeps the focus while it is busy, and takes no further clicks, nor lets its form be sent again. */
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
