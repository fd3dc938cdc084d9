"""Methods that release decision trees and forests."""
