"""The lab: outsiders who attack, measure and explain. It sees what an analyst sees: answers."""
