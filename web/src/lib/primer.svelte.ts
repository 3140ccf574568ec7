// Whether the sheet about the four numbers is open; many places lead to it.

class Primer {
  open = $state(false);
}

export const primer = new Primer();
