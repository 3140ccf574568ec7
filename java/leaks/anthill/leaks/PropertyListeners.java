package anthill.leaks;

import java.beans.PropertyChangeEvent;
import java.beans.PropertyChangeListener;
import java.beans.PropertyChangeSupport;

/** Each dialog adds a PropertyChangeListener to the account of the user, a bean that lives as long as the program. */
final class PropertyListeners {
    private PropertyListeners() {}

    public static void main(String[] args) throws Exception {
        Account account = new Account();
        Leak.of("dialogs add listeners to a bean's PropertyChangeSupport and never remove them")
                .culprit("java.beans.ChangeListenerMap.map")
                .also("anthill.leaks.Account.changes", "java.beans.PropertyChangeSupport.map")
                .element(AccountDialog.class)
                .run(args, number -> {
                    account.addPropertyChangeListener("balance", new AccountDialog(number));
                    if (number % 1_000 == 0) {
                        account.setBalance(number);
                    }
                });
    }
}

final class Account {
    private final PropertyChangeSupport changes = new PropertyChangeSupport(this);
    private long balance;

    void addPropertyChangeListener(String property, PropertyChangeListener listener) {
        changes.addPropertyChangeListener(property, listener);
    }

    void setBalance(long balance) {
        long old = this.balance;
        this.balance = balance;
        changes.firePropertyChange("balance", old, balance);
    }
}

final class AccountDialog implements PropertyChangeListener {
    private final String title;
    private final int[] pixels = new int[300];

    AccountDialog(int number) {
        title = "Account of " + Words.name(number);
    }

    @Override
    public void propertyChange(PropertyChangeEvent event) {
        pixels[title.length()] = event.getNewValue().hashCode();
    }
}
